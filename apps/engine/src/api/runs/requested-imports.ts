import { formatAddress, parseAddress } from "@stackwright/lang";
import { ServerError } from "../../domain/server-error.ts";

interface Import {
  readonly address: string;
  readonly id: string;
}

/**
 * What a request imports, and the addresses that its plan is limited to. `invalid_request` for what is no address of a resource instance,
 * `unprocessable` for one that comes twice, and for options that do not go with an import.
 */
export function requestedImports(
  mode: string,
  {
    imports = [],
    targets = [],
    replace = [],
    staged = false,
  }: {
    readonly imports?: readonly Import[] | undefined;
    readonly targets?: readonly string[] | undefined;
    readonly replace?: readonly string[] | undefined;
    readonly staged?: boolean | undefined;
  },
): { readonly imports: readonly Import[]; readonly targets: readonly string[] } {
  if (mode !== "import") {
    if (imports.length === 0) return { imports, targets };
    throw new ServerError("unprocessable", "imports go with the mode import");
  }
  if (imports.length === 0 || targets.length > 0 || replace.length > 0 || staged) {
    throw new ServerError(
      "unprocessable",
      "a run of the mode import has imports, and no targets, replacements or stages",
    );
  }
  const found = imports.map(({ address, id }) => ({ address: instanceAddress(address), id }));
  const addresses = found.map(({ address }) => address);
  const twice = addresses.find((address, at) => addresses.indexOf(address) !== at);
  if (twice !== undefined) throw new ServerError("unprocessable", `${twice} is named twice`);
  return { imports: found, targets: addresses };
}

function instanceAddress(text: string): string {
  const { value, diagnostics } = parseAddress({ name: "imports", text });
  if (value?.kind === "resource" && value.mode === "managed") return formatAddress(value);
  const why = diagnostics[0]?.detail ?? "it names no managed resource";
  throw new ServerError("invalid_request", `"${text}" is not an address of a resource: ${why}`);
}
