// Prints the flagged words, or writes how many each file has: node tools/ci/src/prose-baseline.ts [--write]
import { join } from "node:path";
import { findProse } from "./prose-rules.ts";
import { storeBaseline } from "./store-baseline.ts";

const root = join(import.meta.dirname, "../../..");
const hits = findProse(root);
if (process.argv.includes("--write")) {
  const higher = storeBaseline(join(root, "tools/ci/prose-baseline.json"), hits);
  if (higher.length > 0) {
    process.stderr.write(`nothing is written, since counts rose:\n${higher.join("\n")}\n`);
    process.exitCode = 1;
  }
} else {
  for (const { file, line, place, word, sentence } of hits) {
    process.stdout.write(
      `${file}:${line} ${place} "${word}": ${sentence.replaceAll(/\s+/g, " ")}\n`,
    );
  }
}
const words = new Map<string, number>();
for (const { word } of hits)
  words.set(word.toLowerCase(), (words.get(word.toLowerCase()) ?? 0) + 1);
const top = [...words].toSorted(([, left], [, right]) => right - left).slice(0, 20);
process.stderr.write(
  `${hits.length} in all: ${top.map(([word, n]) => `${word} ${n}`).join(", ")}\n`,
);
