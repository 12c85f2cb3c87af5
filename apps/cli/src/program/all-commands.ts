import type { Command } from "commander";
import { defineAccessCommands } from "./access-commands.ts";
import { defineAccountCommands } from "./account-commands.ts";
import { defineAdminCommands } from "./admin-commands.ts";
import { defineCiCommands } from "./ci-commands.ts";
import { completionScript, type Shell } from "./completion-script.ts";
import { defineDriftCommands } from "./drift-commands.ts";
import { defineEditorCommands } from "./editor-commands.ts";
import { defineFamiliarCommands } from "./familiar-commands.ts";
import { defineHookCommands } from "./hook-commands.ts";
import { defineKeyCommands } from "./key-commands.ts";
import { defineLoginCommands } from "./login-commands.ts";
import { defineModuleCommands } from "./module-commands.ts";
import { defineMuxCommands } from "./mux-commands.ts";
import { defineNotificationCommands } from "./notification-commands.ts";
import { definePolicyCommands } from "./policy-commands.ts";
import type { DefineCommands, Definition } from "./program.ts";
import { defineProjectCommands } from "./project-commands.ts";
import { defineProviderCommands } from "./provider-commands.ts";
import { defineProviderKitCommands } from "./provider-kit-commands.ts";
import { defineRunCommands } from "./run-commands.ts";
import { defineServerCommands } from "./server-commands.ts";
import { defineServerProjectCommands } from "./server-project-commands.ts";
import { defineServerRunCommands } from "./server-run-commands.ts";
import { definePlanSetCommands } from "./stack-set-commands.ts";
import { defineStateCommands } from "./state-commands.ts";
import { defineStateVersionCommands } from "./state-version-commands.ts";
import { defineTestCommand } from "./test-command.ts";
import { defineVariableCommands } from "./variable-commands.ts";
import { defineVcsCommands } from "./vcs-commands.ts";
import { defineWorkspaceCommands } from "./workspace-commands.ts";

/** All commands, in the order in which help lists them. */
export const ALL_COMMANDS: readonly DefineCommands[] = [
  ({ define, run }) => defineProjectCommands(define, run),
  ({ define, run }) => defineRunCommands(define, run),
  ({ define, run }) => defineTestCommand(define, run),
  ({ define, run }) => defineStateCommands(define, run),
  ({ define, run }) => defineKeyCommands(define, run),
  ({ define, run }) => defineModuleCommands(define, run),
  ({ define, run }) => defineProviderCommands(define, run),
  ({ define, run }) => defineProviderKitCommands(define, run),
  ({ define, run }) => defineMuxCommands(define, run),
  ({ program, define, run }) => defineFamiliarCommands(program, define, run),
  ({ define, run }) => defineWorkspaceCommands(define, run),
  ({ define, run, process }) => defineServerCommands(define, run, process),
  ({ define, run }) => defineAdminCommands(define, run),
  ({ define, run }) => defineLoginCommands(define, run),
  ({ define, run }) => defineServerRunCommands(define, run),
  ({ define, run }) => definePlanSetCommands(define, run),
  ({ define, run }) => defineDriftCommands(define, run),
  ({ define, run }) => defineVariableCommands(define, run),
  ({ define, run }) => definePolicyCommands(define, run),
  ({ define, run }) => defineVcsCommands(define, run),
  ({ define, run }) => defineNotificationCommands(define, run),
  ({ define, run }) => defineHookCommands(define, run),
  ({ define, run }) => defineAccountCommands(define, run),
  ({ define, run }) => defineServerProjectCommands(define, run),
  ({ define, run }) => defineAccessCommands(define, run),
  ({ define, run }) => defineStateVersionCommands(define, run),
  ({ define, run, process }) => defineEditorCommands(define, run, process),
  ({ define, run }) => defineCiCommands(define, run),
  defineCompletion,
];

function defineCompletion({ program, define, run }: Definition): void {
  define(
    "completion <shell>",
    "a script that completes commands and options: bash, zsh or fish",
  ).action(async (shell: string, _options: unknown, command: Command) => {
    await run(command, ({ terminal }) => {
      if (shell !== "bash" && shell !== "zsh" && shell !== "fish") {
        command.error(`error: there is no completion for "${shell}"; there is bash, zsh and fish`);
      }
      terminal.write(completionScript(program, shell satisfies Shell));
      return 0;
    });
  });
}
