import { compactJson, parseStateFile } from "@stackwright/tfstate";

/** An output value of a state. */
export interface StateOutput {
  readonly name: string;
  readonly sensitive: boolean;
  readonly value: unknown;
  /** The type in its JSON form: `"string"`, `["list","number"]`. */
  readonly type: unknown;
}

/** The outputs of a state file. `TFSTATE_FILE_INVALID`. */
export function readOutputs(text: string): readonly StateOutput[] {
  return parseStateFile(text).outputs.map(({ name, sensitive, value, type }) => ({
    name,
    sensitive,
    value: JSON.parse(compactJson(value)) as unknown,
    type: JSON.parse(compactJson(type)) as unknown,
  }));
}
