export { diagnoseService, type Diagnosis } from './diagnose.js';
export type { DiagnosisFinding } from './probe.js';
