/** The URN of a function that serves a private provider. */
export interface FunctionUrn {
  readonly text: string;
  readonly region: string;
  /** The project of the platform, not of this product. */
  readonly project: string;
  readonly name: string;
  /** A version, or an alias with its `!`. */
  readonly qualifier: string;
}

const REGION = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
const PROJECT = /^[A-Za-z0-9]{3,64}$/;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,58}[A-Za-z0-9]$/;
const QUALIFIER = /^(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,40}|![A-Za-z][A-Za-z0-9_-]{0,61})[A-Za-z0-9]$/;

/**
 * Parses `urn:fss:<region>:<project>:function:default:<name>:<version or !alias>`; `undefined` for any other text.
 * The published pattern has a greedy wildcard for the region, so a text with two regions matches it; here a URN has
 * exactly eight parts, each compared in full. Whether the function exists is not checked.
 *
 * Source: `function_graph_urn` of the private-provider API, seed 003.
 */
export function parseFunctionUrn(text: string): FunctionUrn | undefined {
  const parts = text.split(":", 9);
  const [urn, service, region = "", project = "", kind, group, name = "", qualifier = ""] = parts;
  const isValid =
    parts.length === 8 &&
    urn === "urn" &&
    service === "fss" &&
    kind === "function" &&
    group === "default" &&
    REGION.test(region) &&
    PROJECT.test(project) &&
    NAME.test(name) &&
    QUALIFIER.test(qualifier);
  return isValid ? { text, region, project, name, qualifier } : undefined;
}
