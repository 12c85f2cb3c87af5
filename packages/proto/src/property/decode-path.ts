import type { Frame } from "./frame.ts";
import { readLooseMember, readLooseValue } from "./loose-fields.ts";
import type { PropertyPath } from "./path.ts";
import { SIGNATURE, SIGNATURE_KEY } from "./signature.ts";
import { WireFault, type WireReader } from "./wire.ts";

/**
 * The path of the member being read in the last frame. The `value` member of a secret or output
 * is the property itself and not a step of the path. Whether an object is one of these may depend on
 * a member that is not read yet, so this reads ahead.
 */
export function pathOfFrames(reader: WireReader, frames: readonly Frame[]): PropertyPath {
  return frames.flatMap((frame): PropertyPath => {
    if (frame.list !== undefined) return [frame.list.length];
    return frame.key === "value" && isWrapper(reader, frame) ? [] : [frame.key];
  });
}

function isWrapper(reader: WireReader, frame: Frame): boolean {
  const signature = signatureOfFrame(reader, frame);
  return signature === SIGNATURE.secret || signature === SIGNATURE.output;
}

/** The signature of the object being read in a frame, which may be ahead of what is read. */
export function signatureOfFrame(reader: WireReader, frame: Frame): string | undefined {
  const known = frame.map?.get(SIGNATURE_KEY);
  return known?.kind === "string" ? known.value : findSignature(reader, frame);
}

function findSignature(reader: WireReader, frame: Frame): string | undefined {
  try {
    reader.next = frame.pos;
    while (reader.next < frame.end) {
      const member = readLooseMember(reader, frame.end, true);
      if (member?.key !== SIGNATURE_KEY) continue;
      const found = readLooseValue(reader, member.segments);
      return "value" in found && found.value.kind === "string" ? found.value.value : undefined;
    }
  } catch (error) {
    // What follows is malformed too; the fault that is being reported came first.
    if (!(error instanceof WireFault)) throw error;
  }
  return undefined;
}
