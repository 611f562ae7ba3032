// Starts the language server and tells it of the settings.

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, RevealOutputChannelOn, ServerOptions } from "vscode-languageclient/node";
import { launches, Position, program } from "./server";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("opwright.restart", restart),
    vscode.commands.registerCommand("opwright.showOutput", () => client?.outputChannel.show()),
    vscode.commands.registerCommand("opwright.showLaunches", showLaunches),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("opwright.path")) {
        await restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

async function start(): Promise<void> {
  const command = program({
    configured: vscode.workspace.getConfiguration("opwright").get("path", ""),
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
    home: os.homedir(),
    windows: process.platform === "win32",
    isFile: (path) => fs.statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
  });
  const server: ServerOptions = { command, args: ["server"] };
  const options: LanguageClientOptions = {
    documentSelector: [{ scheme: "file", language: "python" }],
    initializationOptions: vscode.workspace.getConfiguration("opwright"),
    revealOutputChannelOn: RevealOutputChannelOn.Never,
  };
  client = new LanguageClient("opwright", "Opwright", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `Opwright: cannot start \`${command}\`: ${error}. Install it with \`pip install opwright\`, or set \`opwright.path\`.`,
      "Open Settings",
    );
    if (choice) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "opwright.path");
    }
  }
}

async function showLaunches(...args: unknown[]): Promise<void> {
  const asked = launches(args);
  if (!asked) {
    return;
  }
  const position = (at: Position) => new vscode.Position(at.line, at.character);
  const places = asked.places.map(
    ({ uri, range }) =>
      new vscode.Location(vscode.Uri.parse(uri), new vscode.Range(position(range.start), position(range.end))),
  );
  const uri = vscode.Uri.parse(asked.uri);
  await vscode.commands.executeCommand("editor.action.showReferences", uri, position(asked.position), places);
}
