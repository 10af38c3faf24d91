export { openExpression, planExpression } from './configured.js';
export { expressionsOver, type Expression } from './expression.js';
export { ExpressionFault, functions, type ExpressionFunction } from './functions.js';
export { outcomesOf } from './outcomes.js';
