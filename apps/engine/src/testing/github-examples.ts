import { createRequire } from "node:module";

/** A body as GitHub documents it: any member is there, and those that a test changes are named by it. */
export type GithubBody = Readonly<Record<string, unknown>>;

interface EventExamples {
  readonly name: string;
  readonly examples: readonly GithubBody[];
}

/** The repository of all examples. */
export const GITHUB_REPOSITORY = "Codertocat/Hello-World";

/** The documented body of a webhook of GitHub, from `@octokit/webhooks-examples`. */
export function githubExample(
  event: string,
  matches: (body: GithubBody) => boolean = () => true,
): GithubBody {
  const all = createRequire(import.meta.url)("@octokit/webhooks-examples") as EventExamples[];
  const found = all.find(({ name }) => name === event)?.examples.find(matches);
  if (found === undefined) throw new Error(`there is no example of ${event}`);
  return found;
}
