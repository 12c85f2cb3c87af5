/** A change of a small stack that both commands plan. */
export interface Comparison {
  readonly title: string;
  /** What is applied before the plan. */
  readonly before: string;
  /** What is planned. */
  readonly after: string;
  /** More words of the `plan`. */
  readonly options?: readonly string[];
  /** Done between: words of commands about the state, or a change by another program, as contents by path (null: deleted). */
  readonly taint?: string;
  readonly drift?: Readonly<Record<string, string | null>>;
  /** What each text shows to a person who has to decide. */
  readonly reference: string;
  readonly ours: string;
}

/** The blocks that a configuration with the provider of the tests needs. */
const LAB = `terraform {
  required_providers {
    lab = { source = "example.test/lab/lab" }
  }
}
provider "lab" {
  directory = abspath("\${path.root}/../lab")
}
`;

/** The head of configurations with objects of a real provider. */
export function withLab(text: string): string {
  return `${LAB}${text}`;
}
