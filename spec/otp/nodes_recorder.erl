%% Makes scenarios of two nodes and records what OTP does: README.md, "nodes.json", says how to run this and what the file means.
%%
%%     erlc -o DIR nodes_recorder.erl
%%     erl -noshell -pa DIR -run nodes_recorder main COUNT SEED PORT FILE
%%
%% This VM is the control. It drives n1 and n2 over their standard input and output (peer), so that it is no part of their
%% network; and all that goes between n1 and n2 passes a proxy here, which can hold it. n1 listens on 127.0.0.1 and n2 on
%% 127.0.0.3, but n2 is called n2@127.0.0.2, where the proxy listens. No epmd runs.

-module(nodes_recorder).
-export([main/1, request/1, start_agent/0, connect/1, cut/1, await_cut/1]).

-define(N1, 'n1@127.0.0.1').
-define(N2, 'n2@127.0.0.2').
-define(NAMES, [p1, p2, p3, p4, p5, p6]).
-define(REASONS, [normal, shutdown, kill, boom, bang]).
%% Rounds in which nothing new was seen, before a step is over.
-define(QUIET, 4).

main([CountText, SeedText, PortText, File]) ->
    [Count, Seed, Port] = [list_to_integer(Text) || Text <- [CountText, SeedText, PortText]],
    Proxy = start_proxy(Port),
    Peers = #{n1 => start_node(n1, "127.0.0.1", {127, 0, 0, 1}, Port),
              n2 => start_node(n2, "127.0.0.2", {127, 0, 0, 3}, Port)},
    World = #{peers => Peers, proxy => Proxy},
    true = heal(World),
    Scenarios = record(World, Seed, 1, Count, 0, []),
    ok = file:write_file(File, ["[\n", lists:join(",\n", Scenarios), "\n]\n"]),
    [peer:stop(Peer) || Peer <- maps:values(Peers)],
    halt(0).

start_node(Name, Host, Interface, Port) ->
    {ok, Peer, _} = peer:start(#{
        name => Name, host => Host, longnames => true, connection => standard_io,
        args => ["-setcookie", "signalbox", "-start_epmd", "false", "-erl_epmd_port", integer_to_list(Port),
                 "-kernel", "inet_dist_use_interface", lists:flatten(io_lib:format("~w", [Interface])),
                 "-kernel", "dist_auto_connect", "never", "-kernel", "prevent_overlapping_partitions", "false",
                 "-kernel", "logger_level", "none", "-connect_all", "false", "+S", "1:1",
                 "-pa", filename:dirname(code:which(?MODULE))]}),
    Peer.

%% ── scenarios ────────────────────────────────────────────────────────────────────────────────────────────────────

%% The first recording makes the scenario as it goes, so that most operations are of processes that live; two more
%% follow it. A scenario on which not all agree is left out.
record(_World, _Seed, _Index, 0, Dropped, Done) ->
    io:format("~p recorded, ~p left out because the recordings differ~n", [length(Done), Dropped]),
    lists:reverse(Done);
record(World, Seed, Index, Left, Dropped, Done) ->
    _ = rand:seed(exsss, {Seed, Index, 27}),
    Homes = homes(),
    Length = 12 + rand:uniform(12),
    {Ops, Steps} = run(World, Homes, {make, Length}),
    Agree = lists:all(fun(_) -> {Ops, Steps} =:= run(World, Homes, {follow, Ops}) end, [second, third]),
    case Left rem 25 of
        0 -> io:format("~p left~n", [Left]);
        _ -> ok
    end,
    if
        Agree ->
            Id = io_lib:format("n~p_~p", [Seed, Index]),
            record(World, Seed, Index + 1, Left - 1, Dropped, [scenario(Id, Homes, Ops, Steps) | Done]);
        true -> record(World, Seed, Index + 1, Left, Dropped + 1, Done)
    end.

%% Which node each process is on. p1 and p2 are on different ones.
homes() ->
    Rest = [{Name, pick([n1, n2])} || Name <- [p3, p4, p5, p6]],
    maps:from_list([{p1, n1}, {p2, n2} | Rest]).

run(World, Homes, Plan) ->
    [ok = peer:call(Peer, ?MODULE, start_agent, []) || Peer <- peers(World)],
    Run = #{world => World, homes => Homes, connected => true, pids => #{}, refs => #{}, alive => [], number => 0,
            focus => {p1, p2}},
    Result = steps(Run, Plan, []),
    [ok = request(Peer, close) || Peer <- peers(World)],
    true = heal(World),
    Result.

steps(_Run, {make, 0}, Done) -> lists:unzip(lists:reverse(Done));
steps(#{alive := [], pids := Pids}, {make, _}, Done) when map_size(Pids) =:= length(?NAMES) ->
    lists:unzip(lists:reverse(Done));
steps(_Run, {follow, []}, Done) -> lists:unzip(lists:reverse(Done));
steps(Run0, Plan0, Done) ->
    {Op, Plan, Run1} = case Plan0 of
        {follow, [Next | Rest]} -> {Next, {follow, Rest}, Run0};
        {make, Left} ->
            Focused = refocus(Run0),
            {next(Left, Focused), {make, Left - 1}, Focused}
    end,
    {Result, Run2} = perform(Op, Run1),
    settle(Run2),
    {Seen, Run} = collect(Run2),
    steps(Run, Plan, [{Op, {Result, Seen}} | Done]).

%% ── making operations ────────────────────────────────────────────────────────────────────────────────────────────

%% The last operations end processes: that shows who is linked to them and who monitors them.
next(Left, #{pids := Pids, alive := Alive} = Run) ->
    Unborn = [Name || Name <- ?NAMES, not is_map_key(Name, Pids)],
    if
        Left =< 3, Alive =/= [] -> [die, pick(Alive), pick([boom, bang, shutdown])];
        map_size(Pids) < 4 -> [spawn, hd(Unborn), chance(65)];
        Unborn =/= [], length(Alive) < 3 -> [spawn, hd(Unborn), chance(65)];
        true -> make(pick_weighted(weights(Run)), Run)
    end.

%% Most operations are of one pair on two nodes, until one of the two is dead, or by chance.
refocus(#{pids := Pids} = Run) when not (is_map_key(p1, Pids) andalso is_map_key(p2, Pids)) -> Run;
refocus(#{alive := Alive, focus := {P, Q}, homes := Homes} = Run) ->
    Stays = lists:member(P, Alive) andalso lists:member(Q, Alive) andalso map_get(P, Homes) =/= map_get(Q, Homes),
    case Stays andalso chance(85) of
        true -> Run;
        false -> Run#{focus := far_pair(Run)}
    end.

weights(#{connected := true}) ->
    [{link, 26}, {unlink, 6}, {monitor, 12}, {demonitor, 4}, {exit_signal, 5}, {die, 6}, {crash, 2}, {return, 2},
     {trap, 3}, {send, 5}, {burst, 3}, {spawn, 2}, {cut, 10}, {together, 24}];
weights(#{connected := false}) ->
    [{link, 12}, {unlink, 6}, {monitor, 12}, {demonitor, 5}, {exit_signal, 5}, {die, 6}, {crash, 1}, {return, 1},
     {trap, 3}, {send, 5}, {burst, 3}, {spawn, 2}, {cut, 1}, {heal, 32}].

make(together, Run) -> [together, together(Run, 1 + rand:uniform(4))];
make(cut, _Run) -> cut_op();
make(heal, _Run) -> [heal, n1, n2];
make(spawn, #{pids := Pids} = Run) ->
    case [Name || Name <- ?NAMES, not is_map_key(Name, Pids)] of
        [] -> make(link, Run);
        [Name | _] -> [spawn, Name, chance(65)]
    end;
make(Kind, Run) ->
    {A, B} = pair(Run),
    make(Kind, A, B, Run).

make(monitor, A, B, #{number := Number}) -> [monitor, A, B, ref_name(Number)];
make(demonitor, A, _B, #{refs := Refs} = Run) ->
    case maps:to_list(Refs) of
        [] -> make(monitor, Run);
        All ->
            {Name, {Owner, _}} = pick(All),
            Actor = case chance(95) of true -> Owner; false -> A end,
            [demonitor, Actor, Name, chance(50)]
    end;
make(exit_signal, A, B, _Run) -> [exit_signal, A, B, pick(?REASONS)];
make(die, A, _B, _Run) -> [die, A, pick(?REASONS)];
make(crash, A, _B, _Run) -> [crash, A, pick([boom, bang])];
make(return, A, _B, _Run) -> [return, A];
make(trap, A, _B, _Run) -> [trap, A, chance(50)];
make(send, A, B, _Run) -> [send, A, B, rand:uniform(99)];
make(burst, A, B, _Run) -> [burst, A, B, rand:uniform(3), pick(?REASONS)];
make(Kind, A, B, _Run) when Kind =:= link; Kind =:= unlink -> [Kind, A, B].

%% Operations of few processes, mostly of one pair, whose signals cross; sometimes the connection is lost among them.
together(#{focus := {P, Q}} = Run, Length) ->
    Numbers = lists:seq(1, Length + 1),
    {Ops, _} = lists:mapfoldl(fun(_, Inner) ->
        {A, B} = case chance(80) of
            true -> pick([{P, Q}, {Q, P}]);
            false -> pair(Inner)
        end,
        Kind = pick_weighted([{link, 10}, {unlink, 10}, {monitor, 4}, {demonitor, 4}, {exit_signal, 2}, {die, 3},
                              {crash, 1}, {send, 2}, {trap, 1}]),
        Op = make(Kind, A, B, Inner),
        {Op, promise(Op, Inner)}
    end, Run, Numbers),
    case chance(20) of
        true ->
            {Before, After} = lists:split(rand:uniform(length(Ops)), Ops),
            Before ++ [cut_op() | After];
        false -> Ops
    end.

%% A monitor that an earlier operation of the same step makes may be named by a later one.
promise([monitor, A, _, Name], #{refs := Refs, number := Number} = Run) ->
    Run#{refs := Refs#{Name => {A, promised}}, number := Number + 1};
promise(_, Run) -> Run.

cut_op() -> pick([[cut, n1, n2], [cut, n2, n1]]).

%% The pair in focus, or an actor that mostly lives and another process, mostly on the other node.
pair(#{focus := {P, Q}} = Run) ->
    case chance(50) of
        true -> pick([{P, Q}, {Q, P}]);
        false -> any_pair(Run)
    end.

any_pair(#{pids := Pids, alive := Alive, homes := Homes}) ->
    Known = maps:keys(Pids),
    A = pick(prefer(Alive, Known, 97)),
    Others = prefer(Alive, Known, 85),
    Far = [Name || Name <- Others, map_get(Name, Homes) =/= map_get(A, Homes)],
    {A, pick(prefer(Far, Others, 80))}.

far_pair(#{pids := Pids, alive := Alive, homes := Homes}) ->
    On = fun(Node) ->
        Here = [Name || Name <- maps:keys(Pids), map_get(Name, Homes) =:= Node],
        pick(prefer([Name || Name <- Here, lists:member(Name, Alive)], Here, 95))
    end,
    {On(n1), On(n2)}.

prefer([], All, _) -> All;
prefer(Some, All, Percent) -> case chance(Percent) of true -> Some; false -> All end.

ref_name(Number) -> list_to_atom("r" ++ integer_to_list(Number + 1)).
chance(Percent) -> rand:uniform(100) =< Percent.
pick(List) -> lists:nth(rand:uniform(length(List)), List).
pick_weighted(List) -> pick(lists:append([lists:duplicate(Weight, What) || {What, Weight} <- List])).

%% ── carrying operations out ──────────────────────────────────────────────────────────────────────────────────────

perform([spawn, Name, Trap], #{pids := Pids} = Run) ->
    case Pids of
        #{Name := _} -> {skipped, Run};
        _ ->
            Pid = request(peer_of(Name, Run), {spawn, Trap}),
            {ok, Run#{pids := Pids#{Name => Pid}}}
    end;
perform([cut, A, B], #{connected := true} = Run) ->
    cut_at(A, Run),
    await_cut_at(B, Run),
    {ok, Run#{connected := false}};
perform([cut, _, _], Run) -> {skipped, Run};
perform([heal, _, _], #{connected := false, world := World} = Run) ->
    true = heal(World),
    {ok, Run#{connected := true}};
perform([heal, _, _], Run) -> {skipped, Run};
%% Nothing crosses until all have been carried out. A cut is seen by its first node at once, by the second at the end.
perform([together, Ops], #{world := #{proxy := Proxy}} = Run0) ->
    ok = tell(Proxy, hold),
    {Results, Run} = lists:mapfoldl(fun(Op, Inner0) ->
        {Result, Inner} = held(Op, Inner0),
        [request(Peer, settle) || Peer <- peers(map_get(world, Inner))],
        {Result, Inner}
    end, Run0, Ops),
    ok = tell(Proxy, release),
    case Run of
        #{connected := false} -> [await_cut_at(Node, Run) || Node <- [n1, n2]];
        _ -> ok
    end,
    {Results, Run};
perform([monitor, A, B, Name], #{refs := Refs, number := Number} = Run0) ->
    Run = Run0#{number := Number + 1},
    case is_map_key(Name, Refs) of
        true -> {skipped, Run};
        false ->
            case between(A, B, Run, fun(Pid) -> {monitor, Pid} end) of
                {done, Ref} -> {ok, Run#{refs := Refs#{Name => {A, Ref}}}};
                Result -> {Result, Run}
            end
    end;
perform([demonitor, A, Name, Flush], #{refs := Refs} = Run) ->
    case Refs of
        #{Name := {A, Ref}} -> {by(A, Run, {demonitor, Ref, Flush}), Run};
        _ -> {skipped, Run}
    end;
perform([Kind, A, B], Run) when Kind =:= link; Kind =:= unlink ->
    {between(A, B, Run, fun(Pid) -> {Kind, Pid} end), Run};
perform([exit_signal, A, B, Reason], Run) -> {between(A, B, Run, fun(Pid) -> {exit_signal, Pid, Reason} end), Run};
perform([send, A, B, N], Run) -> {between(A, B, Run, fun(Pid) -> {send, Pid, N} end), Run};
perform([burst, A, B, K, Reason], Run) -> {between(A, B, Run, fun(Pid) -> {burst, Pid, K, Reason} end), Run};
perform([return, A], Run) -> {by(A, Run, return), Run};
perform([Kind, A, What], Run) -> {by(A, Run, {Kind, What}), Run}.

held([cut, A, _], #{connected := true} = Run) ->
    cut_at(A, Run),
    {ok, Run#{connected := false}};
held(Op, Run) -> perform(Op, Run).

between(A, B, #{pids := Pids} = Run, Act) ->
    case Pids of
        #{B := Pid} -> by(A, Run, Act(Pid));
        _ -> skipped
    end.

by(A, #{pids := Pids} = Run, Act) ->
    case Pids of
        #{A := Pid} -> request(peer_of(A, Run), {act, Pid, Act});
        _ -> skipped
    end.

peer_of(Name, #{homes := Homes, world := #{peers := Peers}}) -> map_get(map_get(Name, Homes), Peers).
peers(#{peers := Peers}) -> maps:values(Peers).

cut_at(Node, #{world := #{peers := Peers}}) -> ok = peer:call(map_get(Node, Peers), ?MODULE, cut, [other(Node)]).
await_cut_at(Node, #{world := #{peers := Peers}}) ->
    ok = peer:call(map_get(Node, Peers), ?MODULE, await_cut, [other(Node)]).
other(n1) -> ?N2;
other(n2) -> ?N1.

heal(#{peers := #{n1 := One, n2 := Two}}) ->
    true = peer:call(One, ?MODULE, connect, [?N2], 30000),
    wait(fun() -> lists:member(?N1, peer:call(Two, erlang, nodes, [])) end),
    true.

%% Runs on the node.
connect(Node) ->
    lists:member(Node, nodes()) orelse
        case net_kernel:connect_node(Node) of
            true -> true;
            _ -> timer:sleep(20), connect(Node)
        end.

cut(Node) ->
    true = erlang:disconnect_node(Node),
    await_cut(Node).

await_cut(Node) -> wait(fun() -> not lists:member(Node, nodes()) end).

wait(Done) ->
    case Done() of
        true -> ok;
        false -> timer:sleep(1), wait(Done)
    end.

settle(#{connected := true, world := #{peers := #{n1 := One}}}) -> ok = request(One, {settle, ?N2});
settle(#{world := World}) -> [ok = request(Peer, settle) || Peer <- peers(World)].

%% What was seen on both nodes since the last time, with names in place of pids and refs.
collect(#{pids := Pids, refs := Refs, world := World} = Run) ->
    Names = maps:from_list([{Pid, Name} || {Name, Pid} <- maps:to_list(Pids)]),
    Monitors = maps:from_list([{Ref, Name} || {Name, {_, Ref}} <- maps:to_list(Refs)]),
    Parts = [request(Peer, collect) || Peer <- peers(World)],
    Died = lists:sort([{map_get(Pid, Names), word(Reason)} || {Deaths, _, _} <- Parts, {Pid, Reason} <- Deaths]),
    Gone = [Name || {Name, _} <- Died],
    Log = [{map_get(Pid, Names), entry(Entry, Names, Monitors)} || {_, All, _} <- Parts, {Pid, Entry} <- All],
    Received = [{Name, sort_runs([Entry || {N, Entry} <- Log, N =:= Name])} ||
        Name <- ?NAMES, not lists:member(Name, Gone), lists:keymember(Name, 1, Log)],
    Alive = lists:sort([map_get(Pid, Names) || {_, _, Living} <- Parts, Pid <- Living]),
    {{Received, Died}, Run#{alive := Alive}}.

entry({msg, From, N}, Names, _) -> [msg, map_get(From, Names), N];
entry({'EXIT', From, Reason}, Names, _) -> ['EXIT', map_get(From, Names), word(Reason)];
entry({'DOWN', Ref, Reason}, _, Monitors) -> ['DOWN', map_get(Ref, Monitors), word(Reason)].

word({Reason, Stack}) when is_list(Stack) -> Reason;
word(Reason) when is_atom(Reason) -> Reason.

%% The order of EXIT and DOWN of different senders is not defined.
sort_runs(Entries) ->
    {Run, Rest} = lists:splitwith(fun([Kind | _]) -> Kind =/= msg end, Entries),
    case Rest of
        [] -> lists:sort(Run);
        [Message | More] -> lists:sort(Run) ++ [Message | sort_runs(More)]
    end.

%% ── the agent of a node ──────────────────────────────────────────────────────────────────────────────────────────

start_agent() ->
    register(agent, spawn(fun() -> agent([], [], []) end)),
    ok.

request(Peer, Request) -> peer:call(Peer, ?MODULE, request, [Request], 60000).

%% Runs on the node.
request(Request) ->
    Agent = whereis(agent),
    Ref = monitor(process, Agent),
    Agent ! {request, self(), Ref, Request},
    receive
        {Ref, Answer} -> demonitor(Ref, [flush]), Answer;
        {'DOWN', Ref, process, _, Reason} -> {agent_died, Reason}
    end.

agent(Living, Died, Log) ->
    receive
        {request, From, Ref, {spawn, Trap}} ->
            Agent = self(),
            {Pid, _} = spawn_monitor(fun() -> process_flag(trap_exit, Trap), process(Agent) end),
            From ! {Ref, Pid},
            agent([Pid | Living], Died, Log);
        {request, From, Ref, {act, Pid, Act}} ->
            From ! {Ref, act(lists:member(Pid, Living), Pid, Act)},
            agent(Living, Died, Log);
        {request, From, Ref, settle} ->
            settle_here(Living),
            From ! {Ref, ok},
            agent(Living, Died, Log);
        {request, From, Ref, {settle, Node}} ->
            settle_both(Living, Node, 0, -1),
            From ! {Ref, ok},
            agent(Living, Died, Log);
        {barrier, From, Ref} ->
            sync(Living),
            From ! {passed, Ref, waiting()},
            agent(Living, Died, Log);
        {request, From, Ref, collect} ->
            {Died1, Log1} = drain([], []),
            Living1 = Living -- [Pid || {Pid, _} <- Died1],
            From ! {Ref, {Died1, Log1, Living1}},
            agent(Living1, Died, Log);
        {request, From, Ref, close} ->
            [exit(Pid, kill) || Pid <- Living],
            [receive {'DOWN', _, process, Pid, _} -> ok end || Pid <- Living],
            unregister(agent),
            From ! {Ref, ok}
    end.

%% A process that dies by its own operation has still done it. Its DOWN is left in the mailbox, for `collect`.
act(false, _Pid, _Act) -> skipped;
act(true, Pid, Act) ->
    Ref = monitor(process, Pid),
    Pid ! {act, self(), Ref, Act},
    receive
        {done, Ref, Answer} -> demonitor(Ref, [flush]), Answer;
        {'DOWN', Ref, process, _, noproc} -> skipped;
        {'DOWN', Ref, process, _, _} -> ok
    end.

drain(Died, Log) ->
    receive
        {'DOWN', _, process, Pid, Reason} -> drain([{Pid, Reason} | Died], Log);
        {log, Pid, Entry} -> drain(Died, [{Pid, Entry} | Log])
    after 0 -> {Died, lists:reverse(Log)}
    end.

%% Deaths and log entries that wait to be collected.
waiting() ->
    {messages, All} = process_info(self(), messages),
    length([One || One <- All, element(1, One) =:= log orelse element(1, One) =:= 'DOWN']).

sync(Living) ->
    [begin
        Ref = monitor(process, Pid),
        Pid ! {sync, self(), Ref},
        receive
            {synced, Ref} -> demonitor(Ref, [flush]);
            {'DOWN', Ref, process, _, _} -> ok
        end
    end || Pid <- Living].

settle_here(Living) ->
    [begin sync(Living), erlang:yield() end || _ <- lists:seq(1, 2 * ?QUIET)],
    timer:sleep(1),
    sync(Living).

%% What is under way arrives before a message that is sent after it. Rounds go there and back until nothing new is seen.
settle_both(_Living, _Node, ?QUIET, _Before) -> ok;
settle_both(Living, Node, Quiet, Before) ->
    Ref = make_ref(),
    sync(Living),
    {agent, Node} ! {barrier, self(), Ref},
    There = receive {passed, Ref, Count} -> Count end,
    sync(Living),
    timer:sleep(1),
    case waiting() + There of
        Before -> settle_both(Living, Node, Quiet + 1, Before);
        Now -> settle_both(Living, Node, 0, Now)
    end.

%% ── a process of a scenario ──────────────────────────────────────────────────────────────────────────────────────

process(Agent) ->
    receive
        {act, From, Ref, return} -> From ! {done, Ref, ok};
        {act, From, Ref, Act} ->
            From ! {done, Ref, do(Act)},
            process(Agent);
        {sync, From, Ref} ->
            From ! {synced, Ref},
            process(Agent);
        {msg, _, _} = Message -> log(Agent, Message);
        {'EXIT', _, _} = Exit -> log(Agent, Exit);
        {'DOWN', Ref, process, _, Reason} -> log(Agent, {'DOWN', Ref, Reason})
    end.

log(Agent, Entry) ->
    Agent ! {log, self(), Entry},
    process(Agent).

do({link, Pid}) -> link(Pid), ok;
do({unlink, Pid}) -> unlink(Pid), ok;
do({monitor, Pid}) -> {done, monitor(process, Pid)};
do({demonitor, Ref, true}) -> demonitor(Ref, [flush]), ok;
do({demonitor, Ref, false}) -> demonitor(Ref), ok;
do({exit_signal, Pid, Reason}) -> exit(Pid, Reason), ok;
do({die, Reason}) -> exit(Reason);
do({crash, Reason}) -> error(Reason);
do({trap, Flag}) -> process_flag(trap_exit, Flag), ok;
do({send, Pid, N}) -> Pid ! {msg, self(), N}, ok;
do({burst, Pid, Count, Reason}) ->
    [Pid ! {msg, self(), N} || N <- lists:seq(1, Count)],
    exit(Pid, Reason),
    ok.

%% ── the proxy between n1 and n2 ──────────────────────────────────────────────────────────────────────────────────

start_proxy(Port) ->
    Control = self(),
    Proxy = spawn_link(fun() ->
        Options = [binary, {packet, raw}, {reuseaddr, true}, {ip, {127, 0, 0, 2}}, {active, false}],
        {ok, Listener} = gen_tcp:listen(Port, Options),
        Self = self(),
        spawn_link(fun() -> accept(Listener, Self) end),
        Control ! {listening, self()},
        proxy(Port, none, flowing)
    end),
    receive {listening, Proxy} -> Proxy end.

accept(Listener, Proxy) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    ok = gen_tcp:controlling_process(Socket, Proxy),
    Proxy ! {accepted, Socket},
    accept(Listener, Proxy).

tell(Proxy, What) ->
    Ref = make_ref(),
    Proxy ! {What, self(), Ref},
    receive {Ref, done} -> ok end.

%% Mode: `flowing`, or what is held, youngest first; a lost side stands there as `closed`.
proxy(Port, Ends, Mode) ->
    receive
        {accepted, Near} ->
            {ok, Far} = gen_tcp:connect({127, 0, 0, 3}, Port, [binary, {packet, raw}, {active, false}, {nodelay, true}]),
            [ok = inet:setopts(Socket, [{active, true}, {nodelay, true}]) || Socket <- [Near, Far]],
            proxy(Port, {Near, Far}, Mode);
        {tcp, Socket, Data} when Mode =:= flowing ->
            _ = send(Ends, Socket, Data),
            proxy(Port, Ends, Mode);
        {tcp, Socket, Data} -> proxy(Port, Ends, [{Socket, Data} | Mode]);
        {tcp_closed, Socket} when Mode =:= flowing -> proxy(Port, close(Ends, Socket), Mode);
        {tcp_closed, Socket} -> proxy(Port, Ends, [{Socket, closed} | Mode]);
        {hold, From, Ref} ->
            From ! {Ref, done},
            proxy(Port, Ends, []);
        {release, From, Ref} ->
            Left = case lists:keyfind(closed, 2, Mode) of
                {Socket, closed} -> close(Ends, Socket);
                false -> [send(Ends, Socket, Data) || {Socket, Data} <- lists:reverse(Mode)], Ends
            end,
            From ! {Ref, done},
            proxy(Port, Left, flowing)
    end.

send({Near, Far}, Near, Data) -> gen_tcp:send(Far, Data);
send({Near, Far}, Far, Data) -> gen_tcp:send(Near, Data);
send(_, _, _) -> ok.

%% One side is gone: the other learns of it.
close({Near, Far}, Socket) when Socket =:= Near; Socket =:= Far ->
    [gen_tcp:close(One) || One <- [Near, Far]],
    none;
close(Ends, _) -> Ends.

%% ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────

scenario(Id, Homes, Ops, Steps) ->
    Nodes = object([{Name, json(Node)} || {Name, Node} <- lists:sort(maps:to_list(Homes))]),
    Lines = [step(Op, Step) || {Op, Step} <- lists:zip(Ops, Steps)],
    ["{\"id\":\"", Id, "\",\"nodes\":", Nodes, ",\"steps\":[\n", lists:join(",\n", Lines), "]}"].

%% What is empty, and the result "ok", is left out.
step(Op, {Result, {Received, Died}}) ->
    object([{op, json(Op)}] ++
        [{result, json(Result)} || not fine(Result)] ++
        [{received, object([{Name, json(All)} || {Name, All} <- Received])} || Received =/= []] ++
        [{died, object([{Name, json(Reason)} || {Name, Reason} <- Died])} || Died =/= []]).

fine(Results) when is_list(Results) -> lists:all(fun fine/1, Results);
fine(Result) -> Result =:= ok.

object(Fields) -> ["{", lists:join(",", [["\"", atom_to_list(Name), "\":", Json] || {Name, Json} <- Fields]), "}"].

json(Flag) when is_boolean(Flag) -> atom_to_list(Flag);
json(Word) when is_atom(Word) -> ["\"", atom_to_list(Word), "\""];
json(Number) when is_integer(Number) -> integer_to_list(Number);
json(List) when is_list(List) -> ["[", lists:join(",", [json(One) || One <- List]), "]"].
