import type { StackCipher, StackReference, StoredKeys } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";

/** Opens what is stored of a stack. Makes no keys: without them nothing was stored. `ENGINE_KEY_UNAVAILABLE`. */
export async function storedCipher(keys: StoredKeys, stack: StackReference): Promise<StackCipher> {
  const cipher = await keys.load(stack);
  if (cipher !== undefined) return cipher;
  throw new EngineError(
    "ENGINE_KEY_UNAVAILABLE",
    `the stack ${stack.stack} has no keys: it was deleted, or the store has lost them`,
  );
}
