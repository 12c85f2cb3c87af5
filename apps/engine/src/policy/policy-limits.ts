const MIB = 1024 * 1024;

/** What one evaluation of a policy set may take. */
export interface PolicyLimits {
  /** From the moment in which the thread is ready. @default 5,000 */
  readonly timeoutMs: number;
  /** Memory of the WebAssembly module, in pages of 64 KiB. @default 4,096: 256 MiB */
  readonly memoryPages: number;
  /** Bytes of the input document. @default 64 MiB */
  readonly inputBytes: number;
}

export const POLICY_LIMITS: PolicyLimits = Object.freeze({
  timeoutMs: 5_000,
  memoryPages: 4_096,
  inputBytes: 64 * MIB,
});

/** Bytes of what is uploaded, and of what it unpacks to. */
export const MAX_POLICY_BYTES = 4 * MIB;
export const MAX_UNPACKED_BYTES = 32 * MIB;
/** Entry points of one set. */
export const MAX_ENTRYPOINTS = 50;
/** Findings of one set, and characters of their texts together; the rest is counted. */
export const MAX_FINDINGS = 200;
export const MAX_FINDING_TEXT = 16_384;
/** Characters of one message. */
export const MAX_MESSAGE = 2_048;
