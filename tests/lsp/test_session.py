"""The language server driven by a real client library (pygls), as an editor drives it.

    python -m pytest tests/lsp --opwright target/release/opwright
"""

import asyncio
import json
import os
import pathlib
import random
import shutil
import subprocess

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

os.environ["OPWRIGHT_CACHE_DIR"] = ""  # the user's cache is not touched

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
"""
LAUNCHER = """import torch
from ops.kernels import scale_kernel


def scale(x: torch.Tensor, out: torch.Tensor) -> None:
    scale_kernel[(1,)](x, out, x.numel(), BLOCK=128)
"""
WITHOUT = LAUNCHER.replace("scale_kernel[(1,)](x, out, x.numel(), BLOCK=128)", "out.copy_(x * 2)")


class Editor(LanguageClient):
    """A client that remembers what it was told."""

    def __init__(self):
        super().__init__("tests", "1")
        self.published, self.messages, self.registered = {}, [], []
        self.news = asyncio.Condition()
        self.refreshes = 0

        @self.feature("textDocument/publishDiagnostics")
        async def published(params: types.PublishDiagnosticsParams):
            async with self.news:
                self.published[params.uri] = params
                self.news.notify_all()

        @self.feature("window/showMessage")
        def shown(params):
            self.messages.append(params.message)

        @self.feature("client/registerCapability")
        def registered(params):
            self.registered.extend(item.method for item in params.registrations)

        @self.feature("workspace/diagnostic/refresh")
        def refresh(params):
            self.refreshes += 1

    async def told(self, uri, check, seconds=60):
        """Waits until what was published of a file satisfies the check."""
        async with self.news:
            await asyncio.wait_for(
                self.news.wait_for(lambda: uri in self.published and check(self.published[uri])), seconds
            )
        return self.published[uri]


class Session:
    def __init__(self, editor, root, opwright):
        self.editor, self.root, self.opwright = editor, root, opwright
        self.texts, self.versions = {}, {}

    def uri(self, name):
        return (self.root / name).as_uri()

    def open(self, name, text=None):
        self.texts[name] = (self.root / name).read_text() if text is None else text
        self.versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "python", 1, self.texts[name])
        self.editor.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def close(self, name):
        item = types.TextDocumentIdentifier(self.uri(name))
        self.editor.text_document_did_close(types.DidCloseTextDocumentParams(item))

    def edit(self, name, text, spot=None):
        """Replaces the whole text, or what lies between two positions."""
        self.versions[name] += 1
        change = (
            types.TextDocumentContentChangeWholeDocument(text)
            if spot is None
            else types.TextDocumentContentChangePartial(types.Range(*spot), text)
        )
        if spot is None:
            self.texts[name] = text
        document = types.VersionedTextDocumentIdentifier(uri=self.uri(name), version=self.versions[name])
        self.editor.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def findings(self, name):
        version = self.versions[name]
        told = await self.editor.told(self.uri(name), lambda params: params.version == version)
        return list(told.diagnostics)

    async def actions(self, name, where, only=None):
        context = types.CodeActionContext(diagnostics=[], only=only)
        document = types.TextDocumentIdentifier(self.uri(name))
        found = await self.editor.text_document_code_action_async(types.CodeActionParams(document, where, context))
        return list(found or [])

    def apply(self, edit):
        """The texts after an edit, as an editor makes them; versions must be those of the buffers."""
        after = {}
        for change in edit.document_changes:
            name = pathlib.Path(change.text_document.uri.removeprefix(self.root.as_uri() + "/")).as_posix()
            assert change.text_document.version == self.versions.get(name)
            before = self.texts.get(name) or (self.root / name).read_text()
            after[name] = edited(before, change.edits)
        return after

    def fixed_on_disk(self, *args):
        """The texts after `check --fix` on a copy of the project."""
        copy = self.root.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.root, copy)
        for name, text in self.texts.items():
            (copy / name).write_bytes(text.encode())
        run = [self.opwright, "check", "--fix", "--exit-zero", "--no-cache", "--root", ".", *args]
        subprocess.run(run, cwd=copy, check=True, capture_output=True)
        return {p.relative_to(copy).as_posix(): p.read_bytes().decode() for p in copy.rglob("*.py")}


def edited(text, edits):
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position):
        if position.line >= len(lines):
            return len(text)
        line, units = lines[position.line], 0
        for index, letter in enumerate(line):
            if units >= position.character:
                return starts[position.line] + index
            units += 2 if ord(letter) > 0xFFFF else 1
        return starts[position.line] + len(line)

    for edit in sorted(edits, key=lambda e: offset(e.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def everything():
    """The abilities of a rich client."""
    return types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(
                data_support=True,
                resolve_support=types.ClientCodeActionResolveOptions(properties=["edit"]),
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions(value_set=["quickfix", "source.fixAll"])
                ),
            ),
            hover=types.HoverClientCapabilities(content_format=["markdown"]),
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                related_information=True, code_description_support=True
            ),
        ),
        window=types.WindowClientCapabilities(work_done_progress=True),
    )


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "a project"
    (root / "ops").mkdir(parents=True)
    (root / "opwright.toml").write_text("")
    (root / "ops/__init__.py").write_text("")
    (root / "ops/kernels.py").write_text(KERNEL)
    (root / "ops/scale.py").write_text(LAUNCHER)
    return root


async def started(opwright, root, capabilities=None, options=None, folders=None):
    editor = Editor()
    await editor.start_io(opwright, "server")
    folders = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in (folders or [root])]
    params = types.InitializeParams(
        capabilities=capabilities or everything(),
        process_id=None,
        root_uri=root.as_uri(),
        workspace_folders=folders,
        initialization_options=options,
    )
    result = await editor.initialize_async(params)
    editor.initialized(types.InitializedParams())
    session = Session(editor, root, opwright)
    session.capabilities = result.capabilities
    return session


async def ended(session):
    await session.editor.shutdown_async(None)
    session.editor.exit(None)
    await asyncio.wait_for(session.editor._server.wait(), 20)
    assert session.editor._server.returncode == 0


def run(scenario):
    asyncio.run(asyncio.wait_for(scenario, 300))


def whole(text):
    return types.Range(types.Position(0, 0), types.Position(text.count("\n") + 1, 0))


def test_into_a_finding_and_out_of_it_and_the_fix_of_the_command_line(opwright, project):
    async def scenario():
        s = await started(opwright, project)
        s.open("ops/scale.py", WITHOUT)
        assert await s.findings("ops/scale.py") == []
        s.edit("ops/scale.py", LAUNCHER)
        (found,) = await s.findings("ops/scale.py")
        assert (found.code, found.source) == ("unregistered-launcher", "opwright")
        assert found.code_description.href.endswith("unregistered-launcher.md")
        assert (found.range.start.line, found.range.start.character) == (4, 4)
        assert any("stored" in related.message for related in found.related_information)
        actions = await s.actions("ops/scale.py", found.range, [types.CodeActionKind.QuickFix])
        cure = next(action for action in actions if action.is_preferred)
        want = s.fixed_on_disk("ops/scale.py")
        assert s.apply(cure.edit)["ops/scale.py"] == want["ops/scale.py"] != LAUNCHER
        titles = [action.title for action in actions]
        assert any("in style custom-op (unsafe: " in title for title in titles), titles
        other = next(action for action in actions if "in style custom-op" in action.title)
        want = s.fixed_on_disk("ops/scale.py", "--style", "custom-op", "--unsafe")
        assert s.apply(other.edit)["ops/scale.py"] == want["ops/scale.py"] != LAUNCHER
        ignore = next(action for action in actions if action.title.startswith("Ignore"))
        s.edit("ops/scale.py", s.apply(ignore.edit)["ops/scale.py"])
        assert await s.findings("ops/scale.py") == []
        s.edit("ops/scale.py", WITHOUT)
        assert await s.findings("ops/scale.py") == []
        await ended(s)

    run(scenario())


def test_fix_all_is_what_the_command_line_writes(opwright, project):
    async def scenario():
        s = await started(opwright, project)
        text = LAUNCHER + "\n\n" + LAUNCHER.split("\n\n\n")[1].replace("def scale", "def again")
        s.open("ops/scale.py", text)
        assert len(await s.findings("ops/scale.py")) == 2
        (fix_all,) = await s.actions("ops/scale.py", whole(text), [types.CodeActionKind.SourceFixAll])
        assert fix_all.edit is None and fix_all.kind == "source.fixAll.opwright"
        resolved = await s.editor.code_action_resolve_async(fix_all)
        after = s.apply(resolved.edit)["ops/scale.py"]
        assert after == s.fixed_on_disk("ops/scale.py")["ops/scale.py"]
        s.edit("ops/scale.py", after)
        assert await s.findings("ops/scale.py") == []
        assert await s.actions("ops/scale.py", whole(after), [types.CodeActionKind.SourceFixAll]) == []
        await ended(s)

    run(scenario())


def test_a_kernel_edited_in_one_file_changes_the_findings_of_another(opwright, project):
    async def scenario():
        s = await started(opwright, project)
        # Not open, yet told.
        first = await s.editor.told(s.uri("ops/scale.py"), lambda params: params.diagnostics)
        assert first.version is None and "writes `out`" in str(first.diagnostics)
        s.open("ops/kernels.py")
        assert await s.findings("ops/kernels.py") == []
        s.edit("ops/kernels.py", KERNEL.replace("tl.store(out_ptr", "tl.store(x_ptr"))
        related = lambda params: [r.message for d in params.diagnostics for r in d.related_information]
        await s.editor.told(s.uri("ops/scale.py"), lambda params: "stored through `x_ptr`" in related(params))
        s.edit("ops/kernels.py", KERNEL.replace("@triton.jit\n", ""))
        await s.editor.told(s.uri("ops/scale.py"), lambda params: not params.diagnostics)
        # The buffer is thrown away: the disk counts again.
        s.close("ops/kernels.py")
        await s.editor.told(s.uri("ops/scale.py"), lambda params: params.diagnostics)
        # A change on disk that the client watches.
        assert "workspace/didChangeWatchedFiles" in s.editor.registered
        (project / "ops/scale.py").write_text(WITHOUT)
        event = types.FileEvent(s.uri("ops/scale.py"), types.FileChangeType.Changed)
        s.editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await s.editor.told(s.uri("ops/scale.py"), lambda params: not params.diagnostics)
        (project / "ops/new.py").write_text(LAUNCHER)
        event = types.FileEvent(s.uri("ops/new.py"), types.FileChangeType.Created)
        s.editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await s.editor.told(s.uri("ops/new.py"), lambda params: params.diagnostics)
        (project / "opwright.toml").write_text('exclude = ["ops/new.py"]\n')
        event = types.FileEvent(s.uri("opwright.toml"), types.FileChangeType.Changed)
        s.editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await s.editor.told(s.uri("ops/new.py"), lambda params: not params.diagnostics)
        (project / "opwright.toml").write_text("exlude = []\n")
        s.editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        for _ in range(200):
            if s.editor.messages:
                break
            await asyncio.sleep(0.05)
        assert "did you mean `exclude`" in s.editor.messages[0]
        await ended(s)

    run(scenario())


@pytest.mark.parametrize("encoding, column", [("utf-8", 19), ("utf-16", 16), ("utf-32", 15)])
def test_positions_on_lines_with_emoji_and_tabs(opwright, project, encoding, column):
    async def scenario():
        capabilities = everything()
        capabilities.general = types.GeneralClientCapabilities(position_encodings=[encoding])
        s = await started(opwright, project, capabilities)
        assert s.capabilities.position_encoding == encoding
        text = "from ops.kernels import scale_kernel\nif True:\n\tname = '😀é'; scale_kernel[(1,)](name)\n"
        s.open("ops/loose.py", text)
        (found,) = await s.findings("ops/loose.py")
        start = found.range.start
        assert (start.line, start.character) == (2, column - 1)
        await ended(s)

    run(scenario())


def test_hover_hints_and_lenses(opwright, project):
    async def scenario():
        s = await started(opwright, project, options={"inlayHints": True})
        s.open("ops/scale.py")
        s.open("ops/kernels.py")
        text = lambda hover: hover.contents.value
        document = types.TextDocumentIdentifier(s.uri("ops/scale.py"))
        at = lambda line, column: types.HoverParams(document, types.Position(line, column))
        launcher = text(await s.editor.text_document_hover_async(at(4, 6)))
        assert "writes `out`" in launcher and "Tensor(a0!) out" in launcher or "Tensor(a1!) out" in launcher, launcher
        assert "bypasses the dispatcher" in launcher and "# unregistered-launcher" in launcher
        launch = text(await s.editor.text_document_hover_async(at(5, 6)))
        assert "**kernel** `scale_kernel`" in launch and "reads `x_ptr`" in launch and "writes `out_ptr`" in launch
        assert await s.editor.text_document_hover_async(at(2, 0)) is None
        hints = await s.editor.text_document_inlay_hint_async(types.InlayHintParams(document, whole(LAUNCHER)))
        labels = [(hint.label, hint.position.line, hint.position.character) for hint in hints]
        assert labels == [(" mutates out", 4, 45), (" → written", 5, 29)], labels
        kernels = types.TextDocumentIdentifier(s.uri("ops/kernels.py"))
        (lens,) = await s.editor.text_document_code_lens_async(types.CodeLensParams(kernels))
        assert lens.command.title == "1 launch" and lens.range.start.line == 6
        await ended(s)

    run(scenario())


def test_pull_diagnostics(opwright, project):
    async def scenario():
        capabilities = everything()
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
        capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
        s = await started(opwright, project, capabilities)
        assert s.capabilities.diagnostic_provider.inter_file_dependencies
        s.open("ops/scale.py")
        document = types.TextDocumentIdentifier(s.uri("ops/scale.py"))
        ask = lambda before=None: s.editor.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(document, previous_result_id=before)
        )
        full = await ask()
        assert full.kind == "full" and len(full.items) == 1
        assert (await ask(full.result_id)).kind == "unchanged"
        s.edit("ops/scale.py", WITHOUT)
        assert not (await ask(full.result_id)).items
        s.open("ops/kernels.py")
        s.edit("ops/scale.py", LAUNCHER)
        everywhere = await s.editor.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(previous_result_ids=[]))
        assert [item.uri for item in everywhere.items] == [s.uri("ops/scale.py")]
        assert s.editor.refreshes > 0 and s.editor.published == {}
        await ended(s)

    run(scenario())


def test_several_roots_folders_and_a_file_without_a_workspace(opwright, project, tmp_path):
    async def scenario():
        other = tmp_path / "other"
        shutil.copytree(project, other)
        s = await started(opwright, project, folders=[project, other])
        there = (other / "ops/scale.py").as_uri()
        await s.editor.told(there, lambda params: params.diagnostics)
        await s.editor.told(s.uri("ops/scale.py"), lambda params: params.diagnostics)
        change = types.WorkspaceFoldersChangeEvent(added=[], removed=[types.WorkspaceFolder(other.as_uri(), "other")])
        s.editor.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(change))
        await s.editor.told(there, lambda params: not params.diagnostics)
        await ended(s)
        alone = Editor()
        await alone.start_io(opwright, "server")
        await alone.initialize_async(types.InitializeParams(types.ClientCapabilities(), process_id=None))
        alone.initialized(types.InitializedParams())
        session = Session(alone, project, opwright)
        session.open("ops/scale.py")
        assert len(await session.findings("ops/scale.py")) == 1
        await ended(session)

    run(scenario())


def test_cancel_unknown_requests_and_orderly_shutdown(opwright, project):
    async def scenario():
        s = await started(opwright, project)
        document = types.TextDocumentIdentifier(s.uri("ops/scale.py"))
        s.open("ops/scale.py")
        s.edit("ops/scale.py", LAUNCHER + "\n")
        asked = s.editor.protocol.send_request_async("textDocument/hover", types.HoverParams(document, types.Position(4, 6)))
        task = asyncio.ensure_future(asked)
        await asyncio.sleep(0)
        request = next(iter(s.editor.protocol._request_futures))
        s.editor.protocol.notify("$/cancelRequest", types.CancelParams(id=request))
        with pytest.raises(Exception) as caught:
            await asyncio.wait_for(task, 30)
        assert "ancel" in str(caught.value), caught.value
        for method in ["$/unknown", "textDocument/unheardOf"]:
            with pytest.raises(Exception, match="unknown request"):
                await s.editor.protocol.send_request_async(method, None)
        s.editor.protocol.notify("$/whatever", {"x": 1})
        assert "writes" in (await s.editor.text_document_hover_async(types.HoverParams(document, types.Position(4, 6)))).contents.value
        await s.editor.shutdown_async(None)
        with pytest.raises(Exception, match="shutting down"):
            await s.editor.text_document_hover_async(types.HoverParams(document, types.Position(4, 6)))
        s.editor.exit(None)
        await asyncio.wait_for(s.editor._server.wait(), 20)
        assert s.editor._server.returncode == 0
        rude = await started(opwright, project)
        rude.editor.exit(None)
        await asyncio.wait_for(rude.editor._server.wait(), 20)
        assert rude.editor._server.returncode == 1

    run(scenario())


def test_random_edits_equal_a_check_from_scratch(opwright, project):
    """After each edit the editor knows what a new server would say of the same texts."""
    pieces = [
        "\n", "    ", "#", "'", '"""', "(", ")", "[", "x", "out", "😀", "é", "\t", "\r\n", ":", "@triton.jit\n", "return x\n",
        "scale_kernel[(1,)](x, out, 1, BLOCK=4)\n", "def f(x):\n", "if x:\n    ", "tl.store(x_ptr, 1)\n", "# opwright: ignore[unregistered-launcher] no\n",
    ]  # fmt: skip

    async def scenario():
        rounds, rng = ROUNDS, random.Random(7)
        capabilities = everything()
        capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
        capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
        s = await started(opwright, project, capabilities)
        originals = {"ops/kernels.py": KERNEL, "ops/scale.py": LAUNCHER}
        for name in originals:
            s.open(name)
        for number in range(rounds):
            name = rng.choice(list(originals))
            text = s.texts[name]
            if number % 40 == 0:
                s.edit(name, originals[name])
            else:
                start, length = rng.randrange(len(text) + 1), rng.choice([0, 0, 1, 1, 5, 40])
                end = min(len(text), start + length)
                # The client counts a line end as one place: never edit between its two characters.
                while start and text[start - 1 : start + 1] == "\r\n":
                    start -= 1
                while end < len(text) and text[end - 1 : end + 1] == "\r\n":
                    end += 1
                new = rng.choice(pieces) if rng.random() < 0.7 else ""
                spot = (place(text, start), place(text, end))
                s.edit(name, new, spot)
                s.texts[name] = text[:start] + new + text[end:]
            params = types.WorkspaceDiagnosticParams(previous_result_ids=[])
            got = await s.editor.workspace_diagnostic_async(params)
            for other, text in s.texts.items():
                (project / other).write_bytes(text.encode())
            fresh = subprocess.run(
                [opwright, "check", "--output-format", "json", "--exit-zero", "--no-cache", "--root", "."],
                cwd=project, check=True, capture_output=True,
            )  # fmt: skip
            want = sorted((f["file"], f["rule"], f["start"]["line"], f["end"]["line"], f["message"]) for f in json.loads(fresh.stdout))
            have = sorted(
                (item.uri.split("/ops/")[1], d.code, d.range.start.line + 1, d.range.end.line + 1, d.message.split("\n")[0])
                for item in got.items
                for d in item.items
            )
            assert have == [("".join(w[0].split("ops/")[1:]), *w[1:]) for w in want], (number, s.texts)
        await ended(s)

    run(scenario())


ROUNDS = 60


def place(text, offset):
    before = text[:offset]
    lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return types.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)
