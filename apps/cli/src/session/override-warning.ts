import type { Diagnostic } from "@stackwright/lang";
import type { InstalledProvider } from "@stackwright/tfplugin/install";

/** The warning that programs of the CLI configuration (`dev_overrides`) are used instead of releases; undefined without any. */
export function overrideWarning(
  providers: ReadonlyMap<string, InstalledProvider>,
): Diagnostic | undefined {
  const lines = [...providers.values()]
    .filter(({ origin }) => origin === "override")
    .map(({ address, directory }) => ` - ${address.toDisplay()} in ${directory}`);
  if (lines.length === 0) return undefined;
  return {
    severity: "warning",
    code: "ENGINE_DEV_OVERRIDES",
    summary: "Provider development overrides are in effect",
    detail: `The following provider development overrides are set in the CLI configuration:\n${lines.join("\n")}\n\nThe behavior may therefore not match any released version of the provider, and applying changes may cause the state to become incompatible with published releases.`,
  };
}
