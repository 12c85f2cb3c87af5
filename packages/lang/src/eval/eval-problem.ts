/** The kinds of problems that evaluation reports, with their summaries. */
export const EVAL_PROBLEMS = {
  LANG_EVAL_REFERENCE: "Reference to undeclared name",
  LANG_EVAL_ATTRIBUTE: "Unsupported attribute",
  LANG_EVAL_INDEX: "Invalid index",
  LANG_EVAL_NULL: "Attempt to use null value",
  LANG_EVAL_OPERAND: "Invalid operand",
  LANG_EVAL_OPERATION: "Operation failed",
  LANG_EVAL_CONDITION: "Invalid condition",
  LANG_EVAL_CONDITIONAL_TYPES: "Inconsistent conditional result types",
  LANG_EVAL_TEMPLATE: "Invalid template interpolation value",
  LANG_EVAL_KEY: "Invalid object key",
  LANG_EVAL_FOR: "Invalid 'for' expression",
  LANG_EVAL_SPLAT: "Invalid splat expression",
  LANG_EVAL_FUNCTION: "Call to unknown function",
  LANG_EVAL_ARITY: "Wrong number of function arguments",
  LANG_EVAL_EXPAND: "Invalid expanding argument value",
  LANG_EVAL_ARGUMENT: "Invalid function argument",
  LANG_EVAL_CALL: "Error in function call",
  LANG_EVAL_DEPRECATED: "Use of something deprecated",
  LANG_EVAL_RESULT: "Result may be incomplete",
  LANG_EVAL_LIMIT: "Evaluation too expensive",
  LANG_TYPE: "Invalid type specification",
} as const;

/** Code of a kind of evaluation problem. */
export type EvalProblemCode = keyof typeof EVAL_PROBLEMS;
