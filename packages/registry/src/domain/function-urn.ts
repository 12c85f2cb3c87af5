import { invalidField, RegistryError } from "../errors.ts";
import { checkLength, LENGTHS } from "./fields.ts";

/** The parts of a function's URN. */
export interface FunctionUrn {
  readonly text: string;
  readonly region: string;
  readonly project: string;
  readonly name: string;
  /** A version, or an alias with its `!`. */
  readonly qualifier: string;
}

const PROJECT = /^[A-Za-z0-9]{3,64}$/;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,58}[A-Za-z0-9]$/;
const QUALIFIER = /^(?:[A-Za-z0-9][A-Za-z0-9_.-]{0,40}|![A-Za-z][A-Za-z0-9_-]{0,61})[A-Za-z0-9]$/;

const FORM =
  "urn:fss:<region>:<project>:function:default:<name>:<version>, such as urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:notes:latest";

/**
 * Takes a function's URN apart: `urn:fss:<region>:<project>:function:default:<name>:<qualifier>`. The
 * published pattern lets the region swallow further colons, so a URN could name two regions; this one
 * has exactly eight parts. Whether the function exists is not asked (seed 003).
 *
 * Throws `REGISTRY_INVALID_FIELD`.
 */
export function parseFunctionUrn(text: string): FunctionUrn {
  checkLength("function_graph_urn", text, LENGTHS.function_graph_urn, `it has the form ${FORM}`);
  const parts = text.split(":");
  const [urn, service, region = "", project = "", kind, group, name = "", qualifier = ""] = parts;
  const formed =
    parts.length === 8 &&
    urn === "urn" &&
    service === "fss" &&
    region !== "" &&
    kind === "function" &&
    group === "default" &&
    PROJECT.test(project) &&
    NAME.test(name) &&
    QUALIFIER.test(qualifier);
  if (!formed) {
    throw invalidField(
      "function_graph_urn",
      "pattern",
      `function_graph_urn must have the form ${FORM}`,
    );
  }
  return { text, region, project, name, qualifier };
}

/** Parses a URN and refuses functions of other regions (`REGISTRY_REGION_MISMATCH`). */
export function checkFunctionUrn(text: string, region: string): FunctionUrn {
  const urn = parseFunctionUrn(text);
  if (urn.region !== region) {
    throw new RegistryError(
      "REGISTRY_REGION_MISMATCH",
      `function_graph_urn names a function in ${urn.region.slice(0, 64)}; only those in ${region} can be registered`,
    );
  }
  return urn;
}
