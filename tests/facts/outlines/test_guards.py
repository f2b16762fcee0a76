"""Tests that make a block rare, each by itself: the kind, and which branch is meant."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines import anomalies, guards
from torchperf_lint.facts.outlines.once import set_up_once
from torchperf_lint.facts.syntax import conditions
from torchperf_lint.facts.syntax.chains import chain


def expression(code):
    return ast.parse(code, mode="eval").body


def statement(code):
    return ast.parse(code).body[0]


RARE = [
    ("self.log_freq", "cadence", False),
    ("info_freq", "cadence", False),
    ("self.freq_eval > 0", "cadence", False),
    ("step % self.smooth_freq == 0", "cadence", False),
    ("since_save == save_interval", "cadence", False),
    ("self.log_interval", "cadence", False),
    ("num_nans > 0", "except", False),
    ("self.found_inf", "except", False),
    ("not found_nans", "except", True),
    ("trainer.get_num_updates() == 0", "cadence", False),
    ("step % log_every == 0", "cadence", False),
    ("self._state == State.PRE_VALIDATION", "cadence", False),
    ("state is State.END_OF_EPOCH", "cadence", False),
    ("step % 10 == 0", "cadence", False),
    ("step % self.acc_every == 0", "cadence", False),
    ("step % save_best_acc == 0", "cadence", False),
    ("0 == step % 10", "cadence", False),
    ("(step + 1) % self.every == 0", "cadence", False),
    ("step % 10 != 0", "cadence", True),
    ("step % 10 > 0", "cadence", True),
    ("step % 10", "cadence", True),
    ("not step % 10", "cadence", False),
    ("not step % 10 == 0", "cadence", True),
    ("not step % 10 != 0", "cadence", False),
    ("not not step % 10", "cadence", True),
    ("main and not step % 10", "cadence", False),
    ("step and step % 10 == 0", "cadence", False),
    ("step % 10 == 0 or step == total - 1", "cadence", False),
    ("step % 10 == 0 or step >= total", "cadence", False),
    ("self.step % self.every == 0 or self.buffered is None", "cadence", False),
    ("len(texts) == most or i + 1 == len(rows)", "cadence", False),
    ("step == 0", "cadence", False),
    ("i == steps_per_epoch", "cadence", False),
    ("step == num_train_steps", "cadence", False),
    ("every == -1 and i == steps_per_epoch", "cadence", False),
    ("batch_idx == 0", "cadence", False),
    ("i == len(loader) - 1", "cadence", False),
    ("state.global_step >= state.max_steps", "cadence", False),
    ("step >= cfg.max_steps - 1", "cadence", False),
    ("global_step in train.pg_scale", "cadence", False),
    ("plan is not None and plan.due(step)", "cadence", False),
    ("i + 1 == len(loader)", "cadence", False),
    ("self.num_updates == 1", "cadence", False),
    ("epoch in (1, 2)", "cadence", False),
    ("input_ids.shape[1] == self.begin_index", "cadence", False),
    ("len(tokens) == self.prompt_length", "cadence", False),
    ("ids.size(-1) == start_len", "cadence", False),
    ("cur_len == self.max_length - 1", "cadence", False),
    ("step_check(step, self.config.steps_per_eval_image)", "cadence", False),
    ("should_log", "cadence", False),
    ("log", "cadence", False),
    ("not log", "cadence", True),
    ("len(wandb_images) < 20", "cadence", False),
    ("self.global_step < 5", "cadence", False),
    ("trainer.global_step <= 4 and wandb.run", "cadence", False),
    ("3 > batch_idx", "cadence", False),
    ("not global_step < 5", "cadence", True),
    ("self.would_evaluate()", "cadence", False),
    ("save_scans", "debug", False),
    ("self.save_images", "debug", False),
    ("self.opt.save_test_images", "debug", False),
    ("network_gui.conn == None", "debug", False),
    ("self.viewer is not None", "debug", False),
    ("not should_log", "cadence", True),
    ("not not should_log", "cadence", False),
    ("self.should_save(step)", "cadence", False),
    ("self.__needs_gc(progress)", "cadence", False),
    ("self.check_frequency(batch_idx) and self.max_images > 0", "cadence", False),
    ("need_to_print or do_eval_now", "cadence", False),
    ("log_this_step", "cadence", False),
    ("args.log_interval and x", "cadence", False),
    ("is_last_batch", "cadence", False),
    ("time.time() - last > 5", "cadence", False),
    ("step - last_step < INTERVAL", "cadence", True),
    ("self.step - self.prev_log >= self.log_freq and self.rank == 0", "cadence", False),
    ("seq_len > self.max_seq_len_cached", "cadence", False),
    ("self._current_alibi_size < seqlen", "cadence", False),
    ("seqlen > self.current_length", "cadence", False),
    ("self.epoch_num == 0", "cadence", False),
    ("self.config.max_loss_debug and limit", "debug", False),
    ("done or state.cur_nimg % status_nimg == 0", "cadence", False),
    ("global_step in cfg_train.pg_scale", "cadence", False),
    ("step != SAVE_STEP", "cadence", True),
    ("self.global_step not in steps", "cadence", True),
    ("not epoch != 0", "cadence", False),
    ("perf_counter() > due", "cadence", False),
    ("debug", "debug", False),
    ("self.args.speedtest == 'iter'", "debug", False),
    ("args.nan_detect", "debug", False),
    ("self.args.log_grad_norms", "debug", False),
    ("self._debug", "debug", False),
    ("not debug", "debug", True),
    ("args.verbose", "debug", False),
    ("verbose > 1", "debug", False),
    ("profiling", "debug", False),
    ("torch.onnx.is_in_onnx_export()", "debug", False),
    ("torch.jit.is_scripting()", "debug", False),
    ("logger.isEnabledFor(10)", "debug", False),
    ("self.cpu_cache", "memory", False),
    ("args.offload", "memory", False),
    ("torch.cuda.memory_allocated() > limit", "memory", False),
    ("psutil.virtual_memory().percent > 90", "memory", False),
    ("not config.low_vram", "memory", True),
    ("self.device == Devices.CUDA", "elsewhere", True),
    ("device != Devices.GPU", "elsewhere", False),
    ("x.device.type == 'mps'", "elsewhere", False),
    ("x_is_mps_xpu", "elsewhere", False),
    ("x.device.type != 'cpu'", "elsewhere", True),
    ("device in ('mps', 'xla')", "elsewhere", False),
    ("device not in ['cpu']", "elsewhere", True),
    ("x.device.type == 'cpu' and y", "elsewhere", False),
    ("not (x.device.type == 'cpu' and y)", "elsewhere", True),
    ("not x.device.type != 'cpu'", "elsewhere", False),
    ("x.is_cuda", "elsewhere", True),
    ("x.device.type in ('cuda', 'npu')", "elsewhere", True),
    ("x.device.type not in ['cuda']", "elsewhere", False),
    ("group['step'] == 0", "cadence", False),
    ("not is_cuda", "elsewhere", False),
    ("x.device.type == 'cuda'", "elsewhere", True),
    ("x.device.type != 'cuda'", "elsewhere", False),
    ("'cuda' not in str(x.device)", "elsewhere", False),
    ("'cuda' in x.device.type", "elsewhere", True),
    ("'cuda' in x.type()", "elsewhere", True),
    ("'mps' in str(x.device)", "elsewhere", False),
    ("'cpu' not in device", "elsewhere", True),
    ("str(args.device).startswith('cuda')", "elsewhere", True),
    ("torch.cuda.is_available()", "elsewhere", True),
    ("not torch.cuda.is_available()", "elsewhere", False),
    ("torch.cuda.is_available() and x.is_cuda", "elsewhere", True),
]


@pytest.mark.parametrize(("test", "kind", "otherwise"), RARE, ids=[r[0] for r in RARE])
def test_a_test_that_makes_its_block_rare(test, kind, otherwise):
    found = guards.guard(expression(test))
    assert found is not None
    assert (found.kind, found.otherwise) == (kind, otherwise)


OFTEN = [
    "step in self.scales",
    "len(self.images) < size",
    "len(batch) < 20",
    "self.global_step < 5000",
    "self.global_step < self.warmup",
    "self.global_step > 5",
    "self.global_step < 0",
    "num_steps < 5",
    "epoch < 5",
    "t < 5",
    "self.smooth_freq",
    "self.freq_mixing_rate",
    "self.freq_mask_rate > 0",
    "use_freqs",
    "args.accum_freq == 1",
    "self.reg_every > 1",
    "index == None",
    "len(texts) == batch_size or i + 1 == len(rows)",
    "len(texts) >= self.batch_size or i == total - 1",
    "i == len(rows) - 1 or len(texts) == bs",
    "step % 10 == 0 or targets is None",
    "step % 10 == 0 or self.targets is not None",
    "main and not debug",
    "not is_first_step and scores is not None",
    "training and not self.should_log",
    "main and (not is_debug) and use_wandb",
    "amp and not save_memory",
    "x.shape[1] == self.channels",
    "self.current_size < self.capacity",
    "self.current_size < 3",
    "current_size < capacity",
    "len(tokens) == n",
    "input_ids.shape[1] > self.begin_index",
    "x.size(0) == self.start_dim",
    "time.time() < self.end",
    "step < total and time.monotonic() <= deadline",
    "(step + 1) % accumulation_steps == 0",
    "i % args.gradient_accumulation_steps == 0",
    "not (i + 1) % self.cfg.grad_accum",
    "state.acc_step == 0",
    "i == accumulation_steps - 1",
    "(micro_batch + 1) % self.gradient_acc_steps == 0",
    "batch % self.accu_grad == 0",
    "i % acc_steps == 0",
    "trainer.get_lr() == 0",
    "x",
    "x > 3",
    "loss.item() > 3",
    "step > 3",
    "step == total",
    "step != total",
    "self.frequency > 3",
    "step != None",
    "epoch != -1",
    "seq_len > self.max_len",
    "step >= warmup_steps",
    "step < max_steps",
    "hits > self.cached",
    "i != 0",
    "n != 1",
    "step - first < total",
    "wide or done",
    'padding_index == "last"',
    "name == 'step'",
    "self._state == State.STEP",
    "self._state != State.STOPPED",
    "self.kind == Kind.END",
    "step % 10 == 0 or wide",
    "wide or x.debugged",
    "'%d' % step",
    "f'{step}' == name",
    "isinstance(x, Tensor)",
    "'cpu' not in device and flag",
    "x.device.type != 'cpu' and self.flag",
    "not (x.device.type != 'cpu' and self.flag)",
    "x.device.type != 'cpu' or self.flag",
    "'cuda' in names",
    "name.startswith('cuda')",
    "self.use_cuda",
    "not use_gpu",
    "args.cuda",
    "torch.version.cuda",
    "dist.is_available()",
    "torch.cuda.is_available() and dist.is_available()",
    "self.has_gpu and torch.distributed.is_available()",
    "x.is_cuda and fla.is_available()",
    "x.device.type != 'cuda' and torch.cuda.is_available()",
    "args.gpu",
    "use_cuda_kernel",
    "torch.cuda.is_available() or fast",
    "x is None",
    "self.save_best_image_model",
    "self.training",
    "device in ('cuda', 'cpu')",
    "'mps' == name.lower or x",
    "logits",
    "catalog",
    "everything",
    "prolific",
    "evaluation_result",
]


@pytest.mark.parametrize(
    ("code", "otherwise"),
    [
        ("if use_cuda: x = x.cuda()\nelse: x = x * 2", True),
        ("if not USE_CUDA: pass\nelse: x = x.to(args.device)", False),
        ("if args.cuda: x = x.to('cuda:1')\nelse: pass", True),
        ("if self.use_gpu and torch.cuda.is_available(): x = x.cuda()\nelse: pass", True),
        ("if use_gpu: y = index.search(x)\nelse: y = index.search(x.cpu())", None),
        ("if use_cuda: x = x.to(torch.float16)\nelse: x = x.float()", None),
        ("if use_cuda: x = x.to('cpu')\nelse: pass", None),
        ("if use_cuda: x = ops.run(x)\nelse: x = x.cuda()", None),
        ("if not use_cuda: x = x.mean()", None),
        ("if use_cuda and self.fast: x = x.cuda()\nelse: pass", None),
        ("if torch.version.cuda: x = x.cuda()\nelse: pass", None),
        ("if torch.backends.cuda: x = x.cuda()\nelse: pass", None),
    ],
)
def test_an_option_leaves_a_branch_to_other_devices_where_it_moves_something(code, otherwise):
    found = guards.by_an_option(statement(code))
    assert (found and (found.kind, found.otherwise)) == (otherwise if otherwise is None else ("elsewhere", otherwise))


@pytest.mark.parametrize("test", OFTEN)
def test_a_test_that_says_nothing_about_how_often(test):
    assert guards.guard(expression(test)) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("if step % 10 != 0: continue", "cadence"),
        ("if not PATH or step != SAVE_STEP: return False", "cadence"),
        ("if step - self.last_step < self.interval: return", "cadence"),
        ("if step % 10: return", "cadence"),
        ("if step % 10:\n    x = 1\n    continue", "cadence"),
        ("if not should_log: return", "cadence"),
        ("if not debug: return", "debug"),
        ("assert False", "raise"),
        ("assert 0, 'unreachable'", "raise"),
        ("raise NotImplementedError", "raise"),
        ("return x", "raise"),
        ("if step % 10 == 0: continue", None),
        ("if should_log: continue", None),
        ("if debug: return", None),
        ("if step % 10: pass", None),
        ("if step % 10: break", None),
        ("if step % 10: continue\nelse: x", None),
        ("if step % 10:\n    a\n    b\n    continue", None),
        ("if x: continue", None),
        ("assert x", None),
        ("assert True", None),
    ],
)
def test_a_statement_that_makes_the_rest_of_its_block_rare(code, kind):
    found = guards.guards_the_rest(statement(code))
    assert (found.kind if found else None) == kind


@pytest.mark.parametrize(
    ("test", "is_optional"),
    [
        ("p", True),
        ("p is not None", True),
        ("p and x", True),
        ("x and p is not None", True),
        ("not p", False),
        ("p is None", False),
        ("p or x", False),
        ("p.q", False),
        ("p > 3", False),
        ("x", False),
    ],
)
def test_a_branch_that_only_some_callers_ask_for(test, is_optional):
    assert guards.optional(expression(test), frozenset({"p"})) is is_optional


@pytest.mark.parametrize(
    ("code", "once"),
    [
        ("if len(state) == 0: state['m'] = 1", True),
        ("if not state: state['m'] = 1", True),
        ("if 'm' not in state: state['m'] = 1", True),
        ("if self.cache[k] is None: self.cache[k] = f()", True),
        ("if 'm' not in self.state[p]: self.state[p]['m'] = 1", True),
        ("if len(self.state[p]) == 0: self.state[p]['m'] = 1", True),
        ("if self.cache is None: self.cache = f()", True),
        ("if not self.ready: self.ready = True", True),
        ("if not hasattr(self, 'cache'): self.cache = f()", True),
        ("if len(state) == 0:\n    a = f()\n    state['m'] = a", True),
        ("if best is None: best = f()", False),
        ("if not ready: ready = True", False),
        ("if self.cache is None: self.other = f()", False),
        ("if len(state) == 0: print(state)", False),
        ("if len(state) == 1: state['m'] = 1", False),
        ("if len(queue) == size: queue[0] = x", False),
        ("if self.cache is not None: self.cache = f()", False),
        ("if 'm' in state: state['m'] = 1", False),
        ("if x not in seen: counts[x] = 1", False),
        ("if not hasattr(self, name): self.cache = f()", False),
    ],
)
def test_a_branch_that_fills_what_was_missing_runs_once(code, once):
    assert set_up_once(statement(code)) is once


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ("break", "break"),
        ("return", "return"),
        ("return 1", "return"),
        ("raise E", "raise"),
        ("sys.exit(1)", "raise"),
        ("exit()", "raise"),
        ("os._exit(1)", "raise"),
        ("continue", None),
        ("pass", None),
        ("f()", None),
        ("x = exit()", None),
    ],
)
def test_how_a_block_ends(last, kind):
    assert guards.exit_kind([statement("x = 1"), statement(last)]) == kind


def test_an_empty_block_does_not_end_in_an_exit():
    assert guards.exit_kind([]) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("torch.no_grad()", "grad-off"),
        ("no_grad()", "grad-off"),
        ("torch.inference_mode()", "grad-off"),
        ("torch.autograd.profiler.profile(args.profile, use_cuda=True)", None),
        ("profiler.profile(enabled=args.profile)", None),
        ("torch.autograd.profiler.profile(True)", "profile"),
        ("torch.profiler.profile(activities)", "profile"),
        ("torch.profiler.profile(activities=activities, profile_memory=args.memory)", "profile"),
        ("torch.profiler.profile()", "profile"),
        ("torch.profiler.record_function()", None),
        ("self.trainer.profiler.profile()", None),
        ("profile()", "profile"),
        ("torch.autograd.profiler.emit_nvtx()", "profile"),
        ("torch.profiler.record_function()", None),
        ("torch.autograd.profiler.record_function()", None),
        ("torch.enable_grad()", None),
        ("torch.autocast()", None),
        ("model.no_sync()", None),
        ("open()", None),
    ],
)
def test_a_with_block(name, kind):
    manager = ast.parse(name, mode="eval").body
    assert guards.with_kind(chain(manager), manager) == kind


@pytest.mark.parametrize(
    ("iterable", "turns"),
    [
        ("range(5)", 5),
        ("range(2, 10)", 8),
        ("range(0, 10, 3)", 4),
        ("range(10, 0, 5)", 0),
        ("range(0)", 0),
        ("[1, 2, 3]", 3),
        ("(a, b)", 2),
        ("{a, b}", 2),
        ("enumerate([a, b])", 2),
        ("reversed(range(4))", 4),
        ("tqdm(range(4))", 4),
        ("range(n)", None),
        ("range(1, n)", None),
        ("range(1, 2, 0)", None),
        ("range()", None),
        ("[*xs]", None),
        ("xs", None),
        ("zip([1], [2])", None),
        ("enumerate()", None),
    ],
)
def test_how_often_a_literal_loop_turns(iterable, turns):
    assert guards.literal_turns(expression(iterable)) == turns


def test_how_often_a_literal_loop_turns_downwards():
    assert guards.literal_turns(expression("range(3, -1, -1)")) == 4


def test_words_are_cut_to_what_a_message_carries():
    assert conditions.short("a\n  b") == "a b"
    assert len(conditions.short("x" * 500)) == conditions.SHORT
    assert conditions.short("x" * conditions.SHORT) == "x" * conditions.SHORT
    assert conditions.words(expression("a, b")) == "a, b"


def test_a_huge_test_is_cut_off_not_followed():
    assert guards.guard(expression(" and ".join(["x"] * 5000))) is None
    assert guards.guard(expression("a" + " + a" * 900)) is None


@pytest.mark.parametrize(
    ("code", "rare"),
    [
        ("if loss.item() > 1: print('too large', loss.item()); loss = one", True),
        ("if (x < 0).any(): warnings.warn('negative')", True),
        ("if abs(loss) > high: log.warning('high loss: %.1f', to_scalar(loss))", True),
        ("if abs(loss) > high: log.info('high loss: %.1f', to_scalar(loss))", False),
        ("if loss.requires_grad: log.warning('a graph: %.1f', to_scalar(loss))", False),
        ("if (x < 0).any(): x = x.clamp(0)", False),
        ("if chatty: print(loss)", False),
        ("if loss.item() > 1: count = count + 1", False),
        ("if classes.max() >= n:\n    logger.warning('too many: %d', int(classes.max()))", True),
        ("if not finite.all():\n    logger.debug('%d dropped', (~finite).sum().item())", True),
    ],
)
def test_who_prints_what_a_tensor_holds_means_an_anomaly(code, rare):
    assert anomalies.tells_of_an_anomaly(statement(code)) is rare


@pytest.mark.parametrize("test", ["x", "self.debug", "not self.debug", "x is None", "x is not None", "not x"])
def test_the_same_plain_test_has_the_same_guard_again(test):
    """What is kept of a plain test is kept by all of it: its name, `not`, `is`, and not by its name alone."""
    first = guards.guard(expression(test))
    assert guards.guard(expression(test)) == first
    assert guards.guard(expression("debug")) != guards.guard(expression("debug is None"))
    assert guards.guard(expression("debug")).otherwise != guards.guard(expression("not debug")).otherwise
