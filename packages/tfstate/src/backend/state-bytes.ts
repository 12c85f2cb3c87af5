import { gunzipSync } from "node:zlib";
import { TfstateError } from "../errors.ts";

/** Bytes of the largest state that is read. */
export const MAX_STATE_BYTES = 512 * 1024 * 1024;

export function stateTooLarge(place: string, maxBytes: number): TfstateError {
  return new TfstateError(
    "TFSTATE_BACKEND_UNAVAILABLE",
    `${place}: the state is larger than ${maxBytes} bytes, and is not read`,
  );
}

/** Unpacks no more than a state may have: some bytes can be packed that are too many for the memory. */
export function unpackedState(packed: Uint8Array, place: string, maxBytes: number): Buffer {
  try {
    return gunzipSync(packed, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw stateTooLarge(place, maxBytes);
    throw error;
  }
}
