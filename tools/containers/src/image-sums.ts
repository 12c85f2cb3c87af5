import { readFile, writeFile } from "node:fs/promises";
import type { Docker } from "./docker.ts";

const LINE = /^(sha256:[0-9a-f]{64}) {2}(\S+)$/;

/**
 * Writes the sum of each image, a line each: the engine computes it of the configuration of the image, which has the sums of all its
 * layers. It stays the same where an image is saved, copied and loaded by another engine.
 */
export async function writeImageSums(
  docker: Docker,
  names: readonly string[],
  file: string,
): Promise<void> {
  const lines: string[] = [];
  for (const name of names.toSorted()) lines.push(`${await sumOf(docker, name)}  ${name}\n`);
  await writeFile(file, lines.join(""));
}

/** What is wrong with the images that a file of sums names, a line each; nothing where the engine has just these. */
export async function checkImageSums(docker: Docker, file: string): Promise<readonly string[]> {
  const wrong: string[] = [];
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  if (lines.length === 0) return [`${file} names no image`];
  for (const line of lines) {
    const [, sum, name = ""] = LINE.exec(line) ?? [];
    if (sum === undefined) {
      wrong.push(`${file} has an invalid line: ${line.slice(0, 100)}`);
      continue;
    }
    const found = await sumOf(docker, name).catch(() => undefined);
    if (found === undefined) wrong.push(`${name} is not there`);
    else if (found !== sum) wrong.push(`${name} is ${found}, not ${sum}`);
  }
  return wrong;
}

async function sumOf(docker: Docker, name: string): Promise<string> {
  const words = ["image", "inspect", "--format", "{{.Id}}", name];
  return (await docker.run(words, { timeoutMs: 30_000 })).trim();
}
