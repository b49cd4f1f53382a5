"""Middleware for LangChain agents, LangGraph graphs and deepagents.

    from langgraph.errors import GraphBubbleUp
    from policyengine.adapters.langchain import CAPABILITIES, PolicyMiddleware

    gate = Gate(Parts(engine=Engine(…, control_flow=(GraphBubbleUp,)), capabilities=CAPABILITIES, …))
    agent = create_agent(model, tools, middleware=[…, PolicyMiddleware(gate)], checkpointer=saver)
    run = Run(principal=principal_of(server_context), context=Context(scope_id=conversation, run_id=run_id))
    state = agent.invoke({"messages": […]}, {"configurable": {"thread_id": conversation}}, context=run)

**Whose run it is** comes from `runtime.context` (a `Run`, or something with one as `policy_run`), or from the host's
own `Vouched.identity`; never from messages, arguments or `configurable`. Without one nothing is shown and nothing runs.
Who resumes a run has to give the same: the person who answers is said by `Vouched.approver`. On a LangGraph server the
context is the client's, and an identity is made of `runtime.server_info.user`.

**Asking.** What asks is an interrupt; it needs a checkpointer. `value["description"]` is what the person has to see,
and `value["answers"]` holds an answer of each kind, to be sent back as it is, to an edit with `args` beside:

    (asked,) = state["__interrupt__"]
    agent.invoke(Command(resume={asked.id: asked.value["answers"]["approve"]}), config, context=run)

An answer names the call and the asks that were shown. It counts for these alone, once, however often LangGraph runs the
node again; a no stays a no; an edit is a new call. What is not an answer to the question is asked again. With
`Vouched.keep` there is an "always", of which the host keeps the grants.

**Order.** Put the middleware last: further in, nothing else changes the tools that it has shown, and
HumanInTheLoopMiddleware before it asks about calls before they are decided, so that its edits are. Where others stand
further in (deepagents puts `interrupt_on` there), what they make of a call is decided anew where the tool starts, and
then only an ALLOW lets it run, since nobody can be asked any longer.

**Sub-agents.** Give each one a `PolicyMiddleware(gate, agent=name, only=tools)` of the same gate, in deepagents'
`subagents` as `middleware`. Whatever agent starts within a call is a sub-agent of whoever made the call: the same
person, one step deeper, and no more tools. One that was not given the middleware (deepagents' own `general-purpose`)
has its calls decided as its parent's, and may only make those that need no question. So has a tool that invokes others,
as long as it passes LangChain's context on (a thread of its own does not).

**Deferred tools.** `PolicyMiddleware(gate, deferred=names)` keeps tools out of the model's sight until it has found
them with `tool_search`, which is added; what the policies leave can be found, and is shown from the next reply on.

**Plain LangGraph.** `ToolNode(tools, wrap_tool_call=policy.wrap_tool_call, awrap_tool_call=policy.awrap_tool_call)`.

**What it cannot do.** Tools that run at the provider never pass by: they are hidden, but one that the host binds to
the model itself is out of reach. Of a `Command` its messages are judged, the rest of its update is not. What a model
says and thinks is cleaned; its calls are not, so neither is structured output that is one (`ToolStrategy`), and a
signed thought out of which something was cleaned no longer fits its provider's signature. A model that middleware
further in chooses speaks to streams by itself. A call over its time is given up; a coroutine is cancelled, a thread
goes on unseen. No call can be put into a sandbox, nobody notified. A yes counts once in one process; where that dies
while the call runs, LangGraph gives the next process the stored yes.
"""

from policyengine.adapters.langchain.middleware import PolicyMiddleware
from policyengine.adapters.langchain.vouched import Host, Identity, Vouched, of_context
from policyengine.gate import Capabilities

CAPABILITIES = Capabilities(
    can_ask=True,
    can_rewrite=True,
    can_change_results=True,
    can_limit_time=True,
    can_stop=True,
    can_interrupt=True,
)

__all__ = ["CAPABILITIES", "Host", "Identity", "PolicyMiddleware", "Vouched", "of_context"]
