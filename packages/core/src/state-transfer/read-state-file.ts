import { parseStateFile, type TerraformState, TfstateError } from "@stackwright/tfstate";
import { EngineError } from "../errors.ts";

/** Reads a Terraform state of version 4. `ENGINE_STATE_FILE_INVALID`. */
export function readStateFile(text: string): TerraformState {
  try {
    return parseStateFile(text);
  } catch (error) {
    if (!(error instanceof TfstateError)) throw error;
    throw new EngineError("ENGINE_STATE_FILE_INVALID", error.message, { cause: error });
  }
}
