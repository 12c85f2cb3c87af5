import type { Variable } from "@stackwright/proto/stackwright";
import type { CATEGORIES } from "../worker/run-variables.ts";

/** Names a variable of a stack, or of a set. */
export interface VariableName {
  readonly category: keyof typeof CATEGORIES;
  readonly key: string;
}

/** What a variable becomes. */
export interface NewValue {
  /** Undefined: as it is stored, which of a new one is empty. */
  readonly value?: string | undefined;
  readonly sensitive?: boolean | undefined;
  readonly description?: string | undefined;
}

/** A variable as it is before it changes. */
interface StoredVariable {
  readonly variable: Variable;
  /** The version of what it is stored in. */
  readonly version: string;
}

/** Says what a variable becomes; throws where it is not to be changed. It may be asked several times. */
export type DecideValue = (stored: StoredVariable | undefined) => NewValue;

/**
 * The bytes that a variable is stored with. A sensitive value that stays is not decrypted; the value of one that becomes sensitive is
 * encrypted.
 */
export async function storedValueOf(
  { value, sensitive = false }: NewValue,
  stored: Variable | undefined,
  seal: (plain: Buffer) => Promise<Buffer>,
): Promise<Buffer> {
  if (value === undefined && stored?.sensitive === true) return Buffer.from(stored.value);
  const plain = value === undefined ? Buffer.from(stored?.value ?? []) : Buffer.from(value);
  return sensitive ? seal(plain) : plain;
}
