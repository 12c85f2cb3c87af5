import { type FunctionUrn, parseFunctionUrn } from "@stackwright/provider-source";
import { FgBridgeError } from "../errors.ts";

/**
 * The parts of a function's URN. A URN never becomes part of a URL by its text; it selects a target.
 *
 * @throws FgBridgeError `FG_URN_INVALID`
 */
export function requireFunctionUrn(text: string): FunctionUrn {
  const urn = parseFunctionUrn(text);
  if (urn !== undefined) return urn;
  const shown = JSON.stringify(text.slice(0, 300));
  throw new FgBridgeError("FG_URN_INVALID", `${shown} is not a valid function URN`);
}
