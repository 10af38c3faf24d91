export { openExpression, planExpression } from './configured.js';
export { expressionsOver, type Expression } from './expression.js';
export { ExpressionFault } from './fault.js';
export { functions, type ExpressionFunction } from './functions.js';
export { outcomesOf } from './outcomes.js';
