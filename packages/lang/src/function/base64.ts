const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Bytes in standard base64 with padding, line endings allowed; undefined for anything else. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const plain = text.replace(/[\r\n]/g, "");
  return BASE64.test(plain) ? Buffer.from(plain, "base64") : undefined;
}

/** Text of UTF-8 bytes; undefined where they are none. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
