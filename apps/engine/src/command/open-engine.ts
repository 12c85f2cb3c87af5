import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { hasErrors } from "@stackwright/lang";
import { httpStateBackend, localStateBackend } from "@stackwright/tfplugin/builtin";
import { type Environment, inheritedEnvironment } from "@stackwright/tfplugin/launch";
import { createEngine, type Engine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { installedOrigin } from "../providers/installed-origin.ts";
import { pulumiOrigin } from "../providers/pulumi-origin.ts";
import type { StackState } from "../state/stack-state.ts";
import type { CommandContext } from "./command-context.ts";
import { install, installedLines } from "./install.ts";
import type { Project } from "./project.ts";

/**
 * An engine with the providers that the folder of a command has: built in, installed (now, where something is missing),
 * and programs of this machine.
 */
export async function openEngine(
  project: Project,
  context: CommandContext,
  state?: StackState,
): Promise<Engine> {
  const { env, directory, terminal } = context;
  const recorded = new Set<string>();
  if (state !== undefined) {
    const { objects } = await state.read({ signal: context.signal });
    for (const { provider } of objects.values()) recorded.add(provider.source);
  }
  const installed = hasErrors(project.configuration.diagnostics)
    ? new Map()
    : await install(project, context, { recorded });
  for (const line of installedLines(installed)) terminal.writeError(`${line}\n`);
  return createEngine({
    origins: [
      builtinOrigin({
        backends: [localStateBackend({ workingDirectory: directory }), httpStateBackend()],
      }),
      installedOrigin({
        providers: installed,
        launch: { env: providerEnvironment(env), cwd: directory },
      }),
      pulumiOrigin({ directories: pulumiFolders(env) }),
    ],
  });
}

/** Providers may be programs of Node: they get the one that runs the command before any other. */
function providerEnvironment(env: NodeJS.ProcessEnv): Environment {
  const path = [dirname(process.execPath), env.PATH ?? ""].filter((part) => part !== "");
  return inheritedEnvironment({ ...env, PATH: path.join(delimiter) });
}

/** Where Pulumi keeps its plug-ins, and where a person says that there are some. */
function pulumiFolders(env: NodeJS.ProcessEnv): string[] {
  const own = (env.STACKWRIGHT_PULUMI_PLUGINS ?? "").split(delimiter).filter((part) => part !== "");
  return [...own, join(env.PULUMI_HOME ?? join(env.HOME ?? homedir(), ".pulumi"), "bin")];
}
