import type { ProvisionerRunner } from "../provisioners/provisioner-runner.ts";

/** Allows provisioners in plans; nothing may run one. */
export const PLANNED_ONLY_PROVISIONERS: ProvisionerRunner = {
  run: async () => {
    throw new Error("a plan runs no provisioner");
  },
};
