const standard = /^[A-Za-z0-9+/]*={0,2}$/;
const urlSafe = /^[A-Za-z0-9_-]*={0,2}$/;

/**
 * Decodes base64 strictly: the standard or the URL-safe alphabet, padding whole or absent, no white
 * space, no other characters. `undefined` for everything else. The empty text is zero bytes.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!standard.test(text) && !urlSafe.test(text)) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  if (padding > 0 ? text.length % 4 !== 0 : digits % 4 === 1) return undefined;
  const bytes = Buffer.from(text, "base64");
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Standard alphabet, with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
