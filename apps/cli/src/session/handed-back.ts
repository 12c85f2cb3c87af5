import type { NamedStack } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";

/**
 * Refuses a stack whose state was handed back: its objects belong to the other command. `ENGINE_STATE_NOT_ADOPTED`. It holds
 * for whatever writes the stack, also where nothing in the configuration points to the other command any more.
 */
export function refuseHandedBack(stack: Pick<NamedStack, "adoption"> | undefined): void {
  const origin = stack?.adoption;
  if (origin?.kind !== "state" || !origin.handedBack) return;
  throw new EngineError(
    "ENGINE_STATE_NOT_ADOPTED",
    `The state of this stack was handed back to ${origin.place} (ENGINE_STATE_NOT_ADOPTED).`,
    { details: { advice: "To use the stack again, adopt that state: stackwright adopt" } },
  );
}
