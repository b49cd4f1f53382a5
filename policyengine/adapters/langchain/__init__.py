"""Middleware for LangChain agents, LangGraph graphs and deepagents.

from policyengine.adapters.langchain import CAPABILITIES, PolicyMiddleware
gate = Gate(Parts(engine=Engine(…, control_flow=(GraphBubbleUp,)), capabilities=CAPABILITIES, …))
policy = PolicyMiddleware(gate)
agent = create_agent(model, tools, middleware=[HumanInTheLoopMiddleware(…), policy], checkpointer=saver)
agent.invoke({"messages": …}, config, context=Run(principal=principal_of(…), context=Context(scope_id=…)))
"""

from policyengine.adapters.langchain.hooks import Vouched
from policyengine.adapters.langchain.middleware import PolicyMiddleware
from policyengine.adapters.langchain.runs import Host, Identity, of_context
from policyengine.gate import Capabilities

CAPABILITIES = Capabilities(
    can_ask=True, can_rewrite=True, can_change_results=True, can_stop=True, can_interrupt=True, can_limit_time=True
)

__all__ = ["CAPABILITIES", "Host", "Identity", "PolicyMiddleware", "Vouched", "of_context"]
