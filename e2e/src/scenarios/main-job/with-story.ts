import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { openEnvironment } from "../../environment/open-environment.ts";
import { Story } from "../../environment/story.ts";

/** Opens the environment for the tests of a file; gives what begins a scenario in it. */
export function storiesOfThisFile(): () => Promise<Story> {
  let environment: Environment | undefined;
  beforeAll(async () => {
    environment = await openEnvironment();
  });
  afterAll(async () => {
    await environment?.[Symbol.asyncDispose]();
  });
  return async () => {
    if (environment === undefined) throw new Error("there is no environment yet");
    const story = await Story.begin(environment);
    onTestFinished(async () => story[Symbol.asyncDispose]());
    return story;
  };
}

/** Without frames and line breaks, which depend on what a sentence holds. */
export function plain({ output, error }: { readonly output: string; readonly error: string }) {
  return `${output} ${error}`.replaceAll(/[\s│╷╵]+/g, " ");
}
