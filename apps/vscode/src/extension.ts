import { commands, type ExtensionContext, window, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { initializationOptions, type Settings, serverCommand } from "./client-settings.ts";

/** One client after the other: a call waits for the one before. */
let turn: Promise<LanguageClient | undefined> = Promise.resolve(undefined);

/** Called by the editor when the first file of a language of this extension is opened. */
export async function activate(context: ExtensionContext): Promise<void> {
  const restart = async () => {
    turn = restarted(turn);
    await turn;
  };
  context.subscriptions.push(
    commands.registerCommand("stackwright.restart", restart),
    workspace.onDidGrantWorkspaceTrust(restart),
    workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("stackwright")) await restart();
    }),
  );
  await restart();
}

/** Called by the editor when it ends. */
export async function deactivate(): Promise<void> {
  const client = await turn;
  await client?.dispose();
}

async function restarted(
  before: Promise<LanguageClient | undefined>,
): Promise<LanguageClient | undefined> {
  await (await before)?.dispose();
  const set = settings();
  const { command, args } = serverCommand(set);
  const client = new LanguageClient(
    "stackwright",
    "Stackwright",
    { command, args },
    {
      documentSelector: [
        { scheme: "file", language: "terraform" },
        { scheme: "file", language: "terraform-vars" },
      ],
      initializationOptions: initializationOptions(workspace.isTrusted, set),
      synchronize: {
        fileEvents: workspace.createFileSystemWatcher("**/*.{tf,tofu,tfvars,tf.json,lock.hcl}"),
      },
    },
  );
  try {
    await client.start();
    return client;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    void window.showErrorMessage(
      `"${command}" could not be started: ${reason}. Install Stackwright, or set stackwright.command.`,
    );
    return undefined;
  }
}

function settings(): Settings {
  const configuration = workspace.getConfiguration("stackwright");
  return {
    command: configuration.get("command", "stackwright"),
    arguments: configuration.get<string[]>("arguments", []),
    providers: configuration.get("providers", true),
    plannedChanges: configuration.get("plannedChanges", false),
    valueHints: configuration.get("valueHints", false),
  };
}
