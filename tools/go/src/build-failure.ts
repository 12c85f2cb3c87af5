/** Why a tool could not be built. */
export type BuildFailureReason = "no-go" | "no-network" | "deadline" | "cancelled" | "compile";

/** The report of a failed build. */
export interface BuildFailure {
  readonly reason: BuildFailureReason;
  /** One sentence for users. */
  readonly message: string;
  /** The end of what the Go command printed. */
  readonly output: string;
}

/** Words of the Go command and of the resolver when a module could not be had. */
const NETWORK = [
  /\bdial (tcp|udp)\b/,
  /\bno such host\b/,
  /Could not resolve host/,
  /\bTLS handshake timeout\b/,
  /\bi\/o timeout\b/,
  /\bconnection (refused|reset)\b/,
  /\b(40[1347]|410|429|50[0-4]) [A-Z][A-Za-z ]+$/m,
  /module lookup disabled by GOPROXY=off/,
];

/** Sorts the output of a failed `go build` into "could not fetch" and "does not compile". */
export function explainBuildOutput(output: string): BuildFailure {
  const line = NETWORK.values()
    .map((pattern) => output.split("\n").find((text) => pattern.test(text)))
    .find((found) => found !== undefined);
  if (line !== undefined) {
    return {
      reason: "no-network",
      message: `a module could not be fetched: ${line.trim()}`,
      output,
    };
  }
  const first = output
    .split("\n")
    .map((text) => text.trim())
    .find((text) => text !== "" && !text.startsWith("#") && !text.startsWith("go: downloading"));
  return { reason: "compile", message: `the build failed: ${first ?? "no output"}`, output };
}
