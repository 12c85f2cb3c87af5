/** Asks for a run of one test file, after files of the sandbox were changed. */
export interface TestRequest {
  readonly changed: readonly string[];
  readonly test: string;
}

export type TestAnswer =
  | { readonly type: "ready"; readonly tests: readonly string[] }
  | { readonly type: "done"; readonly failed: boolean; readonly milliseconds: number };
