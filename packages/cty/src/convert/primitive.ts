import { CtyError } from "../errors.ts";
import { BigFloat } from "../number/big-float.ts";
import { numberText } from "../number/number-payload.ts";
import { isNumberPayload } from "../value/payload.ts";
import { Value } from "../value/value.ts";
import type { Convert } from "./converter.ts";

/** Number and bool to string, which always succeed. */
const SAFE: Readonly<Record<string, Convert>> = {
  "number>string": (value) => {
    const payload = Value.payload(value);
    return Value.string(isNumberPayload(payload) ? numberText(payload) : "");
  },
  "bool>string": (value) => Value.string(value.asBoolean() ? "true" : "false"),
};

/** String to number and bool, which depend on the content. */
const UNSAFE: Readonly<Record<string, Convert>> = {
  "string>number": (value) => {
    const number = parseNumber(value.asString());
    if (number === undefined) {
      throw new CtyError("CTY_CONVERSION", "the string does not hold a number");
    }
    return Value.number(number);
  },
  "string>bool": (value) => {
    const text = value.asString();
    if (text === "true" || text === "1") return Value.true;
    if (text === "false" || text === "0") return Value.false;
    const lower = text.toLowerCase();
    const hint = lower === "true" || lower === "false" ? `; write "${lower}" in lower case` : "";
    throw new CtyError("CTY_CONVERSION", `the string does not hold a bool${hint}`);
  },
};

/** A number that is too large to be read is as little a number as any other text. */
function parseNumber(text: string): BigFloat | undefined {
  try {
    return BigFloat.parse(text);
  } catch (error) {
    throw new CtyError("CTY_CONVERSION", "the number in the string is too large", { cause: error });
  }
}

/** The conversion between two different primitive types; undefined where there is none. */
export function primitiveConversion(
  from: string,
  to: string,
  unsafe: boolean,
): Convert | undefined {
  const key = `${from}>${to}`;
  return SAFE[key] ?? (unsafe ? UNSAFE[key] : undefined);
}
