import { NOT_OFFERED_OPERATIONS } from "./not-offered-operations.ts";
import type { Operation } from "./operation.ts";
import { PLAN_OPERATIONS } from "./plan-operations.ts";
import { STACK_CONTENT_OPERATIONS } from "./stack-content-operations.ts";
import { STACK_INSTANCE_OPERATIONS } from "./stack-instance-operations.ts";
import { STACK_OPERATIONS } from "./stack-operations.ts";
import { STACK_SET_OPERATIONS } from "./stack-set-operations.ts";
import { TEMPLATE_OPERATIONS } from "./template-operations.ts";

/** Every operation of the API. */
export const OPERATIONS: readonly Operation[] = [
  ...STACK_OPERATIONS,
  ...STACK_CONTENT_OPERATIONS,
  ...PLAN_OPERATIONS,
  ...TEMPLATE_OPERATIONS,
  ...STACK_SET_OPERATIONS,
  ...STACK_INSTANCE_OPERATIONS,
  ...NOT_OFFERED_OPERATIONS,
];
