/**
 * The little of protobuf's wire format that the bridge needs: finding length-delimited fields, and writing one.
 * Messages are never decoded and encoded again, so all other fields survive.
 */

interface Field {
  readonly number: number;
  /** Content of a length-delimited field; `undefined` for the other kinds. */
  readonly bytes?: Uint8Array;
  /** Of a varint that fits. */
  readonly value?: number;
}

function readVarint(bytes: Uint8Array, start: number): { value: number; next: number } | undefined {
  let value = 0;
  let scale = 1;
  for (let i = start; i < bytes.length && i < start + 10; i++) {
    const byte = bytes[i] ?? 0;
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if (byte < 0x80) return { value, next: i + 1 };
  }
  return undefined;
}

/** The fields of a message in order, or `undefined` if it is not well-formed. */
export function readFields(message: Uint8Array): readonly Field[] | undefined {
  const fields: Field[] = [];
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    if (tag === undefined || tag.value < 8) return undefined;
    const number = Math.floor(tag.value / 8);
    at = tag.next;
    switch (tag.value % 8) {
      case 0: {
        const varint = readVarint(message, at);
        if (varint === undefined) return undefined;
        fields.push({ number, value: varint.value });
        at = varint.next;
        break;
      }
      case 1:
        at += 8;
        fields.push({ number });
        break;
      case 2: {
        const length = readVarint(message, at);
        if (length === undefined || length.next + length.value > message.length) return undefined;
        at = length.next + length.value;
        fields.push({ number, bytes: message.subarray(length.next, at) });
        break;
      }
      case 5:
        at += 4;
        fields.push({ number });
        break;
      default:
        return undefined;
    }
  }
  return at === message.length ? fields : undefined;
}

function varint(value: number): number[] {
  const out: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return out;
}

/** One length-delimited field. */
export function writeField(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

/** Field numbers of `tfplugin5.Diagnostic` and `Configure.Response`. */
const CONFIGURE_DIAGNOSTICS = 1;
const SEVERITY = 1;
const ERROR = 1;

/**
 * The diagnostics of a `Configure.Response`, as a response of another method, if one of them is an
 * error; otherwise `undefined`. Their bytes are moved as they are: severity, detail and attribute
 * path stay. A provider that refused its configuration must not be called.
 *
 * `undefined` also for a response that is not well-formed.
 */
export function configureFailure(
  configureResponse: Uint8Array,
  diagnosticsField: number,
): Uint8Array | undefined {
  const diagnostics = (readFields(configureResponse) ?? []).flatMap(({ number, bytes }) =>
    number === CONFIGURE_DIAGNOSTICS && bytes !== undefined ? [bytes] : [],
  );
  const failed = diagnostics.some((diagnostic) =>
    readFields(diagnostic)?.some(({ number, value }) => number === SEVERITY && value === ERROR),
  );
  if (!failed) return undefined;
  return Buffer.concat(diagnostics.map((bytes) => writeField(diagnosticsField, bytes)));
}

/** `ApplyResourceChange.Request` and `.Response`. */
const APPLY = { priorState: 2, plannedPrivate: 5, newState: 1, private: 2 } as const;

/**
 * The object that the response of an apply that was not begun has to contain next to its diagnostics: the unchanged
 * one. A response without it would mean that the object is deleted, and the caller would remove it from the state.
 */
export function unchangedObject(applyRequest: Uint8Array): Uint8Array {
  const fields = readFields(applyRequest) ?? [];
  const copy = (from: number, to: number) => {
    const bytes = fields.findLast(({ number }) => number === from)?.bytes;
    return bytes === undefined ? new Uint8Array() : writeField(to, bytes);
  };
  return Buffer.concat([
    copy(APPLY.priorState, APPLY.newState),
    copy(APPLY.plannedPrivate, APPLY.private),
  ]);
}

/** One error diagnostic, as the only content of a response. */
export function errorResponse(
  diagnosticsField: number,
  summary: string,
  detail: string,
): Uint8Array {
  const diagnostic = Buffer.concat([
    Buffer.from([SEVERITY * 8, ERROR]),
    writeField(2, Buffer.from(summary)),
    writeField(3, Buffer.from(detail)),
  ]);
  return writeField(diagnosticsField, diagnostic);
}
