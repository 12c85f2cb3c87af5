/** What an entry point gave. */
interface Answer {
  readonly entrypoint: string;
  readonly value: unknown;
}

/**
 * Throws where the rule `allow` of a package is undefined and no entry point of its own: it is absent in the document of its package, as if
 * there were none, and would forbid nothing. Whether a program has the rule is in the names of its functions, which `opa build` writes.
 */
export function requireDefinedAllow(program: Uint8Array, answers: readonly Answer[]): void {
  const named = new Set(answers.map(({ entrypoint }) => entrypoint));
  const bytes = Buffer.from(program.buffer, program.byteOffset, program.byteLength);
  for (const { entrypoint, value } of answers) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    if (Object.hasOwn(value, "allow") || named.has(`${entrypoint}/allow`)) continue;
    if (!hasFunction(bytes, `g0.data.${entrypoint.replaceAll("/", ".")}.allow`)) continue;
    throw new Error(
      `${entrypoint}/allow is undefined for this plan: give it a default, or make it an entry point of its own (opa build -t wasm -e ${entrypoint} -e ${entrypoint}/allow)`,
    );
  }
}

/** Whether a program has a function of this name and no longer one, such as that of a rule `allowed_types`: a name follows its length. */
function hasFunction(program: Buffer, name: string): boolean {
  const text = Buffer.from(name);
  const size = text.length;
  // Seven bits in each byte, the lowest first.
  const length = size < 0x80 ? [size] : [(size & 0x7f) | 0x80, size >> 7];
  return program.includes(Buffer.concat([Buffer.from(length), text]));
}
