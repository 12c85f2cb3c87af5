import { EMPTY_BUNDLE, resolveVariables } from "@stackwright/lang";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine } from "../../engine.ts";
import type { ProviderOrigin } from "../../providers/catalog.ts";
import { PLANNED_ONLY_PROVISIONERS } from "../planned-only-provisioners.ts";
import { createTestState } from "../state-fixture.ts";
import { errorsOf } from "./errors-of.ts";
import { MISUSE_HEAD, type MisuseCase, type MisuseVerdict } from "./misuse-case.ts";

/** Asks the engine, with providers of an origin. */
export async function engineVerdict(
  { text, child }: MisuseCase,
  origins: readonly ProviderOrigin[],
): Promise<MisuseVerdict> {
  const engine = createEngine({
    origins,
    provisioners: PLANNED_ONLY_PROVISIONERS,
  });
  const files = new Map([["main.tf", `${MISUSE_HEAD}${text}\n`]]);
  if (child !== undefined) files.set("m/main.tf", child);
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: (folder) => (files.has(inFolder(folder)) ? ["main.tf"] : []),
    read: (path) => new TextEncoder().encode(files.get(path)),
  });
  const validated = await engine.validate({ configuration });
  const variables = resolveVariables(configuration.root.config.variables, []).values;
  const { state } = createTestState();
  const planned = await engine.plan({ state, configuration, variables });
  return { validate: errorsOf(validated.diagnostics), plan: errorsOf(planned.diagnostics) };
}

function inFolder(folder: string): string {
  return folder === "" || folder === "." ? "main.tf" : `${folder}/main.tf`;
}
