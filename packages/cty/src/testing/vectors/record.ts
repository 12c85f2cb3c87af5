import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { agreement } from "./agreement.ts";
import { askOracle } from "./oracle.ts";
import { type Answer, perform, type Request } from "./perform.ts";
import { decodingRequests, randomRequests } from "./requests.ts";

/**
 * Records answers of the reference as the fixture that the unit tests check, so that compatibility is tested where there
 * is no Go. Run `node src/testing/vectors/record.ts PATH_OF_CTY_VECTORS` after the generators or the reference changed.
 *
 * Only short questions are kept, one in the notation of questions and one of answers per line. Reasons of errors are
 * left out, because they are not compared.
 */
const LONGEST_LINE = 300;
const SEED = 1;

function line(request: Request, answer: Answer): string {
  const outcome =
    answer.error === undefined ? { ok: answer.ok } : { error: outcomeOf(answer.error) };
  return JSON.stringify([request, outcome]);
}

function outcomeOf(error: string): string {
  return error.startsWith("panic:") ? "panic:" : "error";
}

const [binary = ""] = process.argv.slice(2);
const questions = randomRequests(SEED, 6000);
const answers = await askOracle(binary, questions);
const decoding = decodingRequests(questions, answers).filter((_request, i) => i % 10 === 0);
const decoded = await askOracle(binary, decoding);
const lines = [...questions, ...decoding].flatMap((request, i) => {
  const answer = answers[i] ?? decoded[i - questions.length] ?? {};
  const recorded = line(request, answer);
  if (agreement(request, answer, perform(request)) === undefined) {
    throw new Error(`the answers contradict each other: ${recorded}`);
  }
  return recorded.length > LONGEST_LINE ? [] : [recorded];
});
writeFileSync(join(import.meta.dirname, "../../../fixtures/go-cty.jsonl"), `${lines.join("\n")}\n`);
