"""Functions that serve one request a call: handlers of web frameworks, what a demo calls, `predict` of a predictor.

Nothing in the project calls most of them; how often they run is told by what they are registered with, or by name.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ROUTE = pattern(
    r"^(?:\w+\.)*(?:\w*_)?(?:app|api|router|bp|blueprint|server|mod|service|fastapi|flask|routes)"
    r"\.(?:get|post|put|patch|route|websocket|api_route)\(\)$"
)
"""`@app.post("/predict")` of FastAPI, Flask, Sanic, Starlette."""
_DEMO = pattern(r"^(?:gr|gradio)\.(?:Interface|ChatInterface)$|\.(?:click|submit|upload)$")
"""What hands a function to a web page, which calls it for each answer."""
_PREDICTS = pattern(
    r"^(?:predict|infer|inference|transcribe|embed|classify|caption|detect|segment|summari[sz]e|translate|answer)"
    r"(?:_(?:one|single|text|texts|image|images|batch|audio|query|queries|sentence|sentences|request|frame))?$"
)
_HANDLES = pattern(r"^(?:handle|handler|handle_request|lambda_handler)$")
_WHOLE_RUN = pattern(
    r"^(?:args?|opts?|options?|cfg|conf|config|parser|argv|flags|ckpt\w*|checkpoint\w*|weights?|weights_\w+|"
    r"\w*model(?:_(?:name|path|dir|id|file|type))?|\w*loader|data_?set\w*|\w+_(?:dir|folder))$"
)
"""Parameters of a function that is called once for a whole job: its settings, a model's name, all data."""


def request_of(file: SourceFile, function: int) -> Hot | None:
    """Why a function runs for every request; None for others."""
    if function == 0:
        return None
    record = file.outline.functions[function]
    if any(map(_ROUTE.match, record.decorators)):
        return _hot(file, record, f"`@{next(filter(_ROUTE.match, record.decorators))}` makes it serve requests")
    for mention in file.outline.mentions:
        to = mention.of.rpartition(":")[2]
        if mention.kind == "given" and mention.chain == record.name and _DEMO.search(to):
            return _hot(file, record, f"it is handed to `{to}` (line {mention.line}), which calls it for each answer")
    return _by_name(file, function, record)


def _by_name(file: SourceFile, function: int, record: Function) -> Hot | None:
    handles = _HANDLES.match(record.name)
    if not handles and not _PREDICTS.match(record.name):
        return None
    own = record.parameters[record.bound :]
    if not own or any(map(_WHOLE_RUN.match, (p.name for p in own))) or NOT_TRAINING_NAME.search(record.qualname):
        return None
    decorated = [d for d in record.decorators if not d.startswith("torch.")]
    called = file.project.hotness.callers.get(FunctionKey(file.path, function))
    # What the project calls is judged by its callers, and of what a command line runs each process runs it once.
    if decorated or called:
        return None
    return _hot(file, record, f"`{record.name}` is by its name what a service calls for every input")


def _hot(file: SourceFile, record: Function, because: str) -> Hot:
    line = record.header_line or record.line
    story = f"it runs for every request: {because}"
    return Hot("eval", story, "for every request", Confidence.LIKELY, file.path, line)
