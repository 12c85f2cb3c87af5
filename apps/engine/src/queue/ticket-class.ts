import { type RunTicket, RunTicket_Class, RunTicket_Step } from "@stackwright/proto/stackwright";

/** That of plans which block their stack; a higher class is of plans that nothing waits for. */
export const CLASS_OF_PLANS = 2;

/** The lower, the sooner: recoveries, applies, plans, speculative plans, plans of schedules. */
export function classOfTicket({ step, class: ticketClass, background }: RunTicket): number {
  if (background) return 4;
  if (step === RunTicket_Step.STEP_RECOVER) return 0;
  if (step === RunTicket_Step.STEP_APPLY) return 1;
  return ticketClass === RunTicket_Class.CLASS_SPECULATIVE ? 3 : CLASS_OF_PLANS;
}
