/** Where a plan is kept in forms without secrets, which those read who do not have the keys of its stack. */
export interface PlanDocuments {
  /** SHA-256 of the plan as JSON in the blob store, in hexadecimal. */
  readonly documentSha256: string;
  /** SHA-256 of the plan as a view in the blob store, in hexadecimal; empty where there is none. */
  readonly viewSha256: string;
}
