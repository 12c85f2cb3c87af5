import type { Diagnostic, ResourceConfig } from "@stackwright/lang";
import type { RunProvider } from "./run-providers.ts";

const KINDS: Readonly<Record<ResourceConfig["mode"], string>> = {
  managed: "resource type",
  data: "data source",
  ephemeral: "ephemeral resource type",
};

/** What is wrong with a type that a provider has not, or not under that name. */
export function unknownType(
  { reference, schema }: Pick<RunProvider, "reference" | "schema">,
  { mode, type, range }: Pick<ResourceConfig, "mode" | "type" | "range">,
): Diagnostic {
  const names = schema.ambiguous?.get(type);
  const place = { severity: "error", code: "ENGINE_PROVIDER_TYPE", subject: range } as const;
  if (names === undefined) {
    const detail = `The provider ${reference.source} has no ${KINDS[mode]} "${type}".`;
    return { ...place, summary: "Invalid resource type", detail };
  }
  const detail = `Several types of the provider ${reference.source} would be called "${type}", so that none is. They are called ${names.map((name) => `"${name}"`).join(" and ")}.`;
  return { ...place, summary: "Ambiguous resource type", detail };
}
