import { ClientError } from "./errors.ts";
import type { Problem } from "./gen/api.ts";

/** Longest pause that a server may ask for, in milliseconds. */
const MAX_RETRY_AFTER_MS = 30_000;

/** Bytes of a problem document that are read. */
const MAX_PROBLEM_CHARACTERS = 65_536;

/** The error of an answer that is not a success: by its problem document, or by its status where a proxy answered. */
export async function errorOfAnswer(answer: Response): Promise<ClientError> {
  const { status, headers } = answer;
  const text = (await answer.text()).slice(0, MAX_PROBLEM_CHARACTERS);
  const problem = problemOf(headers.get("content-type"), text);
  const retryAfterMs = secondsOf(headers.get("retry-after"));
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (problem !== undefined) {
    const retryable = retryAfterMs !== undefined || status === 429 || status === 503;
    return new ClientError(problem.code, problem.detail, { status, problem, retryable, ...wait });
  }
  const isAway = status === 429 || status === 502 || status === 503 || status === 504;
  const code = isAway ? "CLIENT_UNAVAILABLE" : "CLIENT_UNEXPECTED_ANSWER";
  return new ClientError(code, `the server answered ${status} without a problem document`, {
    status,
    ...wait,
  });
}

function problemOf(type: string | null, text: string): Problem | undefined {
  if (type === null || !/^application\/(?:problem\+)?json\b/.test(type)) return undefined;
  let parsed: Partial<Problem> | null;
  try {
    parsed = JSON.parse(text) as Partial<Problem> | null;
  } catch {
    return undefined;
  }
  const isProblem = typeof parsed?.code === "string" && typeof parsed.detail === "string";
  return isProblem ? (parsed as Problem) : undefined;
}

function secondsOf(header: string | null): number | undefined {
  if (header === null || !/^[0-9]{1,9}$/.test(header)) return undefined;
  return Math.min(MAX_RETRY_AFTER_MS, Number(header) * 1000);
}
