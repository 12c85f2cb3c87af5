import type { Configuration } from "@stackwright/core";
import { CommandError } from "../command-error.ts";

interface Undeclared {
  readonly name: string;
  /** Full source. */
  readonly source: string;
  /** As users write it. */
  readonly display: string;
  /** `main.tf line 3`. */
  readonly place: string;
}

/**
 * Says of a failed installation that a provider of the configuration is in no `required_providers`, and which one it was
 * taken for, where that may be why there is no such provider. Other errors stay as they are.
 */
export function undeclaredProviderHint(
  error: unknown,
  { resolution }: Pick<Configuration, "resolution">,
  recorded: ReadonlySet<string>,
): unknown {
  // What the system refuses, such as to write to a folder, is about no provider.
  if (!(error instanceof Error) || "syscall" in error) return error;
  // An error that names the provider that is not available needs no note about others.
  const { provider } = error as { readonly provider?: unknown };
  const undeclared = undeclaredProviders(resolution).filter(
    ({ source }) => !recorded.has(source) && (provider === undefined || provider === source),
  );
  if (undeclared.length === 0) return error;
  const said = undeclared.map(
    ({ name, display, place }) =>
      `The provider "${name}" is not in required_providers (${place}), and is taken for ${display}.`,
  );
  const width = Math.max(...undeclared.map(({ name }) => name.length));
  const entries = undeclared.map(
    ({ name, display }) => `      ${name.padEnd(width)} = { source = "${display}" }`,
  );
  const advice = [
    ...said,
    "Where another one is meant, say which, such as huawei.com/private-provider/NAME with a version for a private one:",
    "",
    "  terraform {",
    "    required_providers {",
    ...entries,
    "    }",
    "  }",
  ].join("\n");
  return new CommandError(error.message, { cause: error, advice });
}

/** Providers that no module declares, with the place that needs them. */
function undeclaredProviders({ requirements }: Configuration["resolution"]): readonly Undeclared[] {
  return [...requirements].flatMap(([key, { address, from }]) => {
    const [first] = from;
    if (first === undefined || address.kind === "builtin") return [];
    if (!from.every(({ implied }) => implied)) return [];
    const { filename, start } = first.range.source.locate(first.range.start, first.range.end);
    const place = `${filename} line ${start.line}`;
    return [{ name: first.name, source: key, display: address.toDisplay(), place }];
  });
}
