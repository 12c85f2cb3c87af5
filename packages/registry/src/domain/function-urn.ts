import { type FunctionUrn, parseFunctionUrn } from "@stackwright/provider-source";
import { invalidField, RegistryError } from "../errors.ts";
import { checkLength, LENGTHS } from "./fields.ts";

const FORM =
  "urn:fss:<region>:<project>:function:default:<name>:<version>, such as urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:notes:latest";

/** The parts of a function's URN, after its length was checked. Throws `REGISTRY_INVALID_FIELD`. */
export function requireFunctionUrn(text: string): FunctionUrn {
  checkLength("function_graph_urn", text, LENGTHS.function_graph_urn, `it has the form ${FORM}`);
  const urn = parseFunctionUrn(text);
  if (urn !== undefined) return urn;
  throw invalidField(
    "function_graph_urn",
    "pattern",
    `function_graph_urn must have the form ${FORM}`,
  );
}

/** Parses a URN and refuses functions of other regions (`REGISTRY_REGION_MISMATCH`). */
export function checkFunctionUrn(text: string, region: string): FunctionUrn {
  const urn = requireFunctionUrn(text);
  if (urn.region !== region) {
    throw new RegistryError(
      "REGISTRY_REGION_MISMATCH",
      `function_graph_urn names a function in ${urn.region.slice(0, 64)}; only those in ${region} can be registered`,
    );
  }
  return urn;
}
