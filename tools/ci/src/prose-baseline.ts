// Prints the flagged words, or writes how many each file has: node tools/ci/src/prose-baseline.ts [--write]
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { countProse, findProse } from "./prose-rules.ts";

const root = join(import.meta.dirname, "../../..");
const hits = findProse(root);
if (process.argv.includes("--write")) {
  const counts = `${JSON.stringify(countProse(hits), undefined, 2)}\n`;
  writeFileSync(join(root, "tools/ci/prose-baseline.json"), counts);
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
