"""Quick starts for the hundreds of processes that tests start, most of whose time goes into importing torch.

No garbage is looked for while torch is imported, nor what it has made gone through again at the end. Where the
environment says UNCOMPILED, scripts compile nothing: every optimizer imports torch._dynamo, only to tell the compiler
what to leave alone, and that takes as long as all the rest. They find what optimizers ask for, and nothing else, so a
script that compiles fails. Nor do they export, or compute on the meta device: what torch imports for these it goes
without.
"""

import gc
import importlib
import importlib.abc
import importlib.machinery
import os
import sys


def _disable(fn=None, recursive=True, **_):
    return fn if fn is not None else _disable


def _graph_break(*_, **__):
    """Where nothing is compiled, nothing breaks."""


class _Uncompiled(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.disable, module.graph_break = _disable, _graph_break
        if module.__name__ == "torch._meta_registrations":
            meta = importlib.import_module("torch._opaque_base").OpaqueBaseMeta
            sys.modules["torch._C"]._set_generator_metaclass(meta)  # as torch._prims.rng_prims would


class _Torch(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        collects = gc.isenabled()
        gc.disable()
        try:
            super().exec_module(module)
        finally:
            if collects:
                gc.enable()
        gc.freeze()


_SPARED = frozenset(("torch._dynamo", "torch._meta_registrations", "torch.export"))


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in _SPARED and os.environ.get("UNCOMPILED"):
            return importlib.machinery.ModuleSpec(name, _Uncompiled())
        if name != "torch":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Torch(spec.loader.name, spec.loader.path)
        return spec


# Behind the hooks of whoever watches imports, the launcher's among them.
sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), _Finder())
