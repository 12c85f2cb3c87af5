import { FgBridgeError } from "../errors.ts";

/** A function as registries name it. */
export interface FunctionUrn {
  readonly text: string;
  readonly region: string;
  readonly project: string;
  readonly package: string;
  readonly name: string;
  /** A version, or an alias with `!` before it. */
  readonly qualifier: string;
}

const REGION = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;
const PROJECT = /^[A-Za-z0-9]{3,64}$/;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,58}[A-Za-z0-9]$/;
const QUALIFIER = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,40}|![A-Za-z][A-Za-z0-9_-]{0,61})[A-Za-z0-9]$/;

/**
 * Parses `urn:fss:<region>:<project>:function:default:<name>:<version or !alias>`: eight parts, compared
 * exactly. A URN never becomes part of a URL by its text; it selects a row of a table.
 *
 * Source: `function_graph_urn` of the private-provider API, seed 003.
 *
 * @throws FgBridgeError `FG_URN_INVALID`
 */
export function parseFunctionUrn(text: string): FunctionUrn {
  const parts = text.split(":");
  const [urn, fss, region = "", project = "", kind, pack = "", name = "", qualifier = ""] = parts;
  const fits =
    parts.length === 8 &&
    urn === "urn" &&
    fss === "fss" &&
    kind === "function" &&
    pack === "default" &&
    REGION.test(region) &&
    PROJECT.test(project) &&
    NAME.test(name) &&
    QUALIFIER.test(qualifier);
  if (!fits) {
    const shown = JSON.stringify(text.slice(0, 300));
    throw new FgBridgeError("FG_URN_INVALID", `${shown} is not the URN of a function`);
  }
  return { text, region, project, package: pack, name, qualifier };
}
