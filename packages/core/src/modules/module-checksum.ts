import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { ModuleError } from "@stackwright/lang";

const BY_LENGTH: Readonly<Record<number, string>> = {
  32: "md5",
  40: "sha1",
  64: "sha256",
  128: "sha512",
};

/**
 * Checks a file, by its path or its content, against the argument `checksum` of its address: `TYPE:VALUE`, a value alone, or `file:URL` of a list of sums.
 *
 * @param list brings such a list
 */
export async function checkModuleFile(
  file: Buffer | string,
  name: string,
  checksum: string,
  list: (url: string) => Promise<string>,
): Promise<void> {
  const given = checksum.startsWith("file:")
    ? sumOf(await list(checksum.slice("file:".length)), name)
    : checksum;
  const [type, value] = given.includes(":")
    ? [given.slice(0, given.indexOf(":")), given.slice(given.indexOf(":") + 1)]
    : [BY_LENGTH[given.length] ?? "", given];
  if (!Object.values(BY_LENGTH).includes(type)) {
    throw failed(
      `the checksum "${checksum}" is of no known type; md5, sha1, sha256 and sha512 are known`,
    );
  }
  const hash = createHash(type);
  if (typeof file !== "string") hash.update(file);
  else for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  const found = hash.digest("hex");
  if (found === value.toLowerCase()) return;
  throw failed(`its ${type} is ${found}, and the address expects ${value}`);
}

/** The sum of a file in a list such as `sha256sum` writes. */
function sumOf(text: string, name: string): string {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+/));
  const named = lines.find(([, file]) => file?.replace(/^\*?(?:\.\/)?/, "") === name);
  const alone = lines.filter(([sum]) => sum !== "");
  const [sum = ""] = named ?? (alone.length === 1 ? (alone[0] ?? []) : []);
  if (sum === "") throw failed(`the list of checksums does not have "${name}"`);
  return sum;
}

function failed(why: string): ModuleError {
  return new ModuleError("Failed to download module", `The archive is refused: ${why}.`);
}
